"""Putting a random program to the interpreter."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

from investigator.code.interpreter import Budget, Interpreter
from investigator.code.program import ParsedFiles, Program
from investigator.code.values import BudgetSpent, FunctionValue, Raised, Unknown
from tests.code.random_programs.maker import PARAMETERS
from tests.code.random_programs.modules import FILES, FOLLOWED, PROGRAM
from tests.code.random_programs.programs import Arguments
from tests.code.trees import MemoryTree

BUDGET = Budget(steps=60_000)
_SHARED = ParsedFiles()
"""The files beside the program, parsed once."""


def ask(program: str | bytes, given: Arguments, unknown: Iterable[str] = ()) -> Any:
    """What the interpreter makes of ``run(**given)`` without knowing some of the arguments: a value,
    Raised or BudgetSpent. What ``run`` is, where it is no function."""
    interp = interpreter(program)
    arguments = {name: Unknown(f"argument {name}") for name in unknown}
    try:
        module = interp.program.module("made.program")
        function = interp.global_name(module, "run") if module is not None else None
        if not isinstance(function, FunctionValue):
            return function
        return interp.enter(function, (), {**copy.deepcopy(given), **arguments})
    except (Raised, BudgetSpent) as error:
        return error


def interpreter(program: str | bytes) -> Interpreter:
    """An interpreter over the program and the files beside it."""
    text = program.encode() if isinstance(program, str) else program
    files = {path: source.encode() for path, source in FILES.items()}
    beside = Program(MemoryTree(files), parsed=_SHARED)
    parsed = ParsedFiles({**_SHARED.modules} if all(map(beside.module_at, files)) else {})
    whole = Program(MemoryTree({**files, PROGRAM: text}), parsed=parsed)
    return Interpreter(whole, follow=FOLLOWED, budget=BUDGET)


def mixed(given: Arguments, other: Arguments, unknown: Iterable[str]) -> Arguments:
    """Arguments, those of some names taken from others."""
    assert set(unknown) <= set(PARAMETERS)
    return {**given, **{name: other[name] for name in unknown}}
