"""What an error comes to that ends a question: the engine's own word, or a walk that broke off."""

from collections.abc import Iterator

from tree_sitter import Node

from investigator.code import lazy
from investigator.code.interpreter import Interpreter
from investigator.code.program import Program
from investigator.code.syntax import descendants, enclosing, field, text
from investigator.code.trace import Happening, Trace
from investigator.code.values import FunctionValue, Raised, Unknown, Value
from investigator.engines.interface import Step, Told
from investigator.model import NotKnown, Outcome, Refused

DELIBERATE = (b"raise", b"assert")


def is_deliberate(program: Program, raised: Raised) -> bool:
    """Whether the error comes from a ``raise`` or an ``assert`` of the engine, so that it names a reason.

    A name that is not found or a call that does not fit may as well be this reader's own error:
    not everything that a deployment has is there when values are followed.
    """
    place = raised.stack[-1] if raised.stack else None
    module = program.module_at(place.path) if place is not None else None
    if place is None or module is None:
        return False
    words = module.file.source.split(b"\n")[place.line - 1].split(maxsplit=1)
    return bool(words) and words[0] in DELIBERATE


def stopped(program: Program, raised: Raised, what: str) -> Outcome:
    """``Refused`` for an error that the engine raises on purpose; else ``NotKnown``: ``what`` ended in it."""
    if is_deliberate(program, raised):
        return Refused(str(raised))
    return NotKnown(f"{what} ended in {raised}")


def raised_before(
    interp: Interpreter, function: FunctionValue, call: Node, name: str, receiver: Value, supply: lazy.Supply
) -> Told | None:
    """The answer where a ``raise`` above a call, under a condition on the variable ``name``, stops the
    engine before it gets there; None where none does."""
    for node in _raises(function, call, name):
        reached = lazy.reached(interp, function, node, receiver, supply)
        if reached is not False:
            step = Step(function.module.place(node), "stops with an error")
            said = words(node)
            outcome = Refused(said) if reached else NotKnown(f"whether the engine stops with {said}")
            return Told(outcome=outcome, steps=(step,))
    return None


def error_left_open(trace: Trace) -> Unknown | None:
    """What was not followed of a condition under which an error was left out: the engine may stop there."""
    open_ = {(e.place.path, e.place.line): e.value for e in trace.of(Happening.FORK)}
    left_out = (open_.get((e.place.path, e.place.line)) for e in trace.of(Happening.ASSUME))
    return next((why for why in left_out if isinstance(why, Unknown) and why.not_followed is not None), None)


def words(statement: Node) -> str:
    """What a ``raise`` statement raises, as it is written, on one line."""
    return " ".join(text(statement).removeprefix("raise").split())


def without_interface(function: FunctionValue, call: Node) -> Node | None:
    """The ``raise`` above a call that stops where ``supports_...(model)`` does not hold."""
    for node in descendants(field(function.node, "body"), "raise_statement"):
        around = enclosing(node, "if_statement")
        if around is None or node.start_byte >= call.start_byte:
            continue
        condition = field(around, "condition")
        asked = (text(field(c, "function")).rpartition(".")[2] for c in descendants(condition, "call"))
        if condition.type == "not_operator" and any(name.startswith("supports_") for name in asked):
            return node
    return None


def _raises(function: FunctionValue, call: Node, name: str) -> Iterator[Node]:
    for node in descendants(field(function.node, "body"), "raise_statement"):
        around = enclosing(node, "if_statement")
        if node.start_byte >= call.start_byte or around is None:
            continue
        condition = field(around, "condition")
        names = {text(n) for n in (condition, *descendants(condition, "identifier"))}
        if name in names:
            yield node
