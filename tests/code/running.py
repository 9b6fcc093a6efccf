"""Small programs for tests of the interpreter: a file ``m.py``, others beside it, and what comes out."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import dedent
from typing import Any

from investigator.code.interpreter import Interpreter
from investigator.code.program import Program
from investigator.code.values import FunctionValue, OneOf, Unknown
from tests.code.trees import MemoryTree

UNKNOWN = Unknown("not given")
"""An argument of which nothing is known."""


def interpreter(text: str | bytes, files: Mapping[str, str] | None = None, **options: Any) -> Interpreter:
    """An interpreter over ``m.py`` and other files, by path."""
    source = text if isinstance(text, bytes) else dedent(text).encode()
    beside = {path: dedent(other).encode() for path, other in (files or {}).items()}
    return Interpreter(Program(MemoryTree({"m.py": source, **beside})), **options)


def call(interp: Interpreter, name: str, *args: Any, **kwargs: Any) -> Any:
    """``m.name(*args, **kwargs)``. Raises Raised or BudgetSpent."""
    module = interp.program.module("m")
    assert module is not None
    function = interp.global_name(module, name)
    assert isinstance(function, FunctionValue), function
    return interp.enter(function, args, kwargs)


def run(text: str | bytes, *args: Any, files: Mapping[str, str] | None = None, **options: Any) -> Any:
    """What ``m.run(*args)`` gives. Raises Raised or BudgetSpent."""
    return call(interpreter(text, files, **options), "run", *args)


def options_of(value: Any) -> list[Any]:
    """What a choice is among, in order."""
    assert isinstance(value, OneOf), value
    return list(value.options)


def reason(value: Any) -> str:
    """Why a value is not known, and where."""
    assert isinstance(value, Unknown), value
    return str(value)
