"""One call of a builtin function, type or method, as the functions that answer it see it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Self

from tree_sitter import Node

from investigator.code import classes
from investigator.code.equality import equal, is_plain
from investigator.code.frames import Frame
from investigator.code.heap import spread
from investigator.code.iteration import iterate
from investigator.code.syntax import Place
from investigator.code.values import (
    BoundMethod,
    ClassValue,
    ExceptionValue,
    FunctionValue,
    Instance,
    NativeMethod,
    OneOf,
    Partial,
    Stream,
    Unknown,
    Value,
    View,
    find_unknown,
)

if TYPE_CHECKING:
    from investigator.code.interpreter import Interpreter

PLAIN = (int, float, str, bool, type(None))
VALUES = (*PLAIN, list, tuple, dict, set, frozenset, range, slice)
"""The types of values that stand for themselves."""
_OTHERS = (FunctionValue, BoundMethod, NativeMethod, Partial, Stream, View)


def is_surely_no(interp: Interpreter, value: Value, *kinds: type) -> bool:
    """Whether the value surely belongs to none of these of Python's own types."""
    if isinstance(value, Instance):
        return value.cls is not None and classes.surely_lacks(interp, value.cls)
    if isinstance(value, ClassValue):
        return not classes.has_metaclass(interp, value)
    if isinstance(value, ExceptionValue):
        return value.cls is None
    function = value.function if isinstance(value, BoundMethod) else value
    if isinstance(function, FunctionValue) and function.decorators:
        return False  # a kernel, ``@triton.jit``, can be subscripted
    return isinstance(value, (*VALUES, *_OTHERS)) and not isinstance(value, kinds)


def _is_refused(interp: Interpreter, value: Value) -> bool:
    """Whether methods of plain values surely do not take this."""
    if isinstance(value, Instance) and value.cls is not None:
        return classes.surely_lacks(interp, value.cls, "__index__", "__float__")
    return is_surely_no(interp, value, *PLAIN, tuple, list)


class Call:
    """One call of a builtin: its arguments, and where it stands."""

    def __init__(
        self,
        interp: Interpreter,
        frame: Frame,
        node: Node,
        name: str,
        args: tuple[Value, ...],
        kwargs: dict[str, Value],
    ) -> None:
        self.interp, self.frame, self.node, self.name = interp, frame, node, name
        self.args, self.kwargs = args, kwargs

    @property
    def place(self) -> Place:
        return self.frame.module.place(self.node)

    def unknown(self, what: str = "") -> Unknown:
        return Unknown(what or f"{self.name}() of something not followed", self.place)

    def fail(self, kind: str, message: str) -> Exception:
        return self.interp.fail(kind, message, self.frame, self.node)

    def get(self, number: int, name: str, default: Value = None) -> Value:
        return self.args[number] if len(self.args) > number else self.kwargs.get(name, default)

    def items(self, value: Value) -> list[Value] | Unknown:
        return iterate(self.interp, self.frame, self.node, value)

    def spread_items(self, value: Value) -> list[Value]:
        """What the value iterates to; one spread where that is not known."""
        found = self.items(value)
        return [spread(found)] if isinstance(found, Unknown) else found

    def over(self, choice: OneOf, compute: Callable[[Value], Value]) -> Value:
        return self.interp.over(self.frame, self.node, choice, compute)

    def with_args(self, *args: Value) -> Self:
        return type(self)(self.interp, self.frame, self.node, self.name, args, self.kwargs)


Entry = tuple[Callable[[Call], Value], int, int | None, tuple[str, ...] | None]
"""How a builtin is answered: the function, the least and most positional arguments, the keywords
(None: any)."""


class MethodCall(Call):
    """The arguments of one method call, and where it stands."""

    def between(self, least: int, most: int) -> None:
        """Raises Raised(TypeError) for another number of positional arguments."""
        if not least <= len(self.args) <= most or (self.kwargs and self.name not in ("update", "sort")):
            message = f"{self.name}() takes {least} to {most} arguments, {len(self.args)} given"
            raise self.interp.fail("TypeError", message, self.frame, self.node)

    def at(self, number: int, default: Value = None) -> Value:
        """A positional argument."""
        return self.args[number] if len(self.args) > number else default

    def equal(self, a: Value, b: Value) -> bool | None:
        if a is b and not isinstance(a, (Unknown, OneOf)):
            return True
        return self.interp.truth(equal(self.interp, self.frame, self.node, a, b))

    def on_host(self, receiver: Value) -> Value:
        """The method of the host's own value, where all arguments are plain."""
        missing = find_unknown(self.args) or find_unknown(self.kwargs)
        if missing is not None:
            return missing
        if not all(is_plain(argument) for argument in (*self.args, *self.kwargs.values())):
            if self.name != "format" and any(_is_refused(self.interp, argument) for argument in self.args):
                raise self.interp.fail("TypeError", f"{self.name}() of an object", self.frame, self.node)
            return self.unknown(f"{self.name} of something not plain")
        with self.interp.host_errors(self.frame, self.node):
            result = getattr(receiver, self.name)(*self.args, **self.kwargs)
        return self.interp.journal.born(result) if isinstance(result, list) else result
