"""``raise`` and ``assert``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tree_sitter import Node

from investigator.code import classes
from investigator.code.branching import (
    Signal,
    fork,
)
from investigator.code.exceptions import is_exception_name, message_of
from investigator.code.frames import Frame
from investigator.code.literals import render
from investigator.code.syntax import field as child
from investigator.code.syntax import first, named, text
from investigator.code.values import (
    Builtin,
    ClassValue,
    ExceptionValue,
    Raised,
    Unknown,
    Value,
    find_unknown,
)

if TYPE_CHECKING:
    from investigator.code.interpreter import Interpreter


def run_raise(interp: Interpreter, frame: Frame, node: Node) -> Signal:
    """``raise``, ``raise X``, ``raise X(...) from Y``."""
    given = named(node)
    if not given:
        if interp.handling:
            raise interp.handling[-1]
        raise interp.fail("RuntimeError", "No active exception to reraise", frame, node)
    stack = (*interp.stack, frame.module.place(node))
    value = interp.evaluate(frame, given[0])
    raise Raised(_to_raise(interp, frame, given[0], value), stack)


def _to_raise(interp: Interpreter, frame: Frame, node: Node, value: Value) -> ExceptionValue:
    """The exception that ``raise value`` raises; named after its text where it is not known."""
    if isinstance(value, Builtin) and is_exception_name(value.name):
        return ExceptionValue(value.name, "")
    if isinstance(value, ClassValue) and classes.is_exception(interp, value):
        return ExceptionValue(value.name, "", value)
    if isinstance(value, ExceptionValue):
        return ExceptionValue(value.name, _message(interp, frame, node, value), value.cls, value.args)
    if isinstance(value, (int, float, str, list, tuple, dict, type(None))):
        message = "exceptions must derive from BaseException"
        return ExceptionValue("TypeError", message, None, (message,))
    called = child(node, "function") if node.type == "call" else node
    unknown = (Unknown("what an exception of unknown class says"),)
    return ExceptionValue(text(called).rpartition(".")[2], _message(interp, frame, node, None), None, unknown)


def _message(interp: Interpreter, frame: Frame, node: Node, error: ExceptionValue | None) -> str:
    """What a person reads: the message as far as it is known."""
    if error is not None and (error.message or find_unknown(error.args) is None):
        return error.message or message_of(error.args)
    arguments = named(child(node, "arguments")) if node.type == "call" else []
    return render(interp, frame, arguments[0]) if arguments else ""


def run_assert(interp: Interpreter, frame: Frame, node: Node) -> Signal:
    """``assert condition, message``; an undecided one is taken to hold."""
    parts = named(node)
    value = interp.evaluate(frame, first(node))
    truth = interp.truth(value)

    def fails() -> Signal:
        if len(parts) == 1:
            raise interp.fail("AssertionError", text(parts[0]), frame, node, ())
        said = interp.evaluate(frame, parts[1])
        message = said if isinstance(said, str) else render(interp, frame, parts[1])
        raise interp.fail("AssertionError", message, frame, node, (said,))

    if truth is None:
        return fork(interp, frame, node, [fails, lambda: None], interp.why(value, frame, node))
    return None if truth else fails()
