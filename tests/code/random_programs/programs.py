"""Random programs and their arguments, as strategies and by seed, and Python's own answer.

A program is the text of a module with a function ``run``. It is run by Python itself (its text
was made here, nothing of it is foreign) and by the interpreter.
"""

from __future__ import annotations

import contextlib
import copy
import itertools
import signal
import sys
from collections.abc import Callable, Iterator
from functools import cache
from types import CodeType, FrameType, ModuleType
from typing import Any

from hypothesis import strategies as st

from tests.code.random_programs.choices import Choices, Drawn, Seeded, one_of
from tests.code.random_programs.maker import PARAMETERS, Maker
from tests.code.random_programs.modules import FILES, HEAD, PROGRAM

Arguments = dict[str, Any]
MOST_LINES = 20_000
"""After so many lines Python gives up on a program."""
MOST_SECONDS = 2
"""Of a processor's time; what takes longer is given up."""
MOST_ELEMENTS = 4_000
"""So it does when a variable holds a text or container of more, or a number of more bits."""


def program(choices: Choices, *, in_order: bool) -> str:
    """The text of a module with a function ``run``, which returns all that it knows."""
    maker = Maker(choices, in_order=in_order)
    maker.put(1, "reset()")
    maker.put(1, "conf = Config(size=b)")
    maker.kinds["conf"] = "conf"
    maker.block(1, 8)
    known = ", ".join(sorted(maker.kinds))
    maker.put(1, f"return [{known}, helpers.total, Base.shared, Derived.shared, Blend.made, sizes, NAMES]")
    body = "\n".join(maker.lines)
    return f"{HEAD}\n\ndef run({', '.join(PARAMETERS)}):\n{body}\n"


def arguments(choices: Choices) -> Arguments:
    """One value for each parameter of ``run``."""

    def numbers(low: int, high: int, most: int) -> list[int]:
        return [low + choices.below(high - low + 1) for _ in range(choices.below(most + 1))]

    return {
        "a": choices.below(14) - 4,
        "b": choices.below(14) - 4,
        "flag": choices.below(2) == 1,
        "word": one_of(choices, ["", "a", "bc", "one", "fast"]),
        "xs": numbers(-2, 6, 4),
        "ys": numbers(-2, 6, 4),
        "table": dict(zip(["a", "one", "bc"], numbers(0, 5, 2), strict=False)),
        "thing": one_of(choices, [None, 0, 1, 2, 3]),
    }


@st.composite
def programs(draw: Callable[[Any], Any], *, in_order: bool) -> str:
    """Programs, for hypothesis."""
    return program(Drawn(draw), in_order=in_order)


@st.composite
def inputs(draw: Callable[[Any], Any]) -> Arguments:
    """Arguments, for hypothesis."""
    return arguments(Drawn(draw))


def seeded(seed: int, *, runs: int, in_order: bool) -> tuple[str, list[Arguments]]:
    """The program of a number, and some arguments for it."""
    text = program(Seeded(f"program {seed}"), in_order=in_order)
    return text, [arguments(Seeded(f"arguments {seed} {number}")) for number in range(runs)]


def unknown_inputs(choices: Choices) -> frozenset[str]:
    """The parameters that the interpreter is not to know, at least one."""
    count = 1 + choices.below(5)
    return frozenset(one_of(choices, sorted(PARAMETERS)) for _ in range(count))


# -- what Python makes of it -----------------------------------------------------------


class LeftOpen(BaseException):
    """Python itself took too many lines, made something very large, or came to what the language
    leaves open. No ``except Exception`` of the program catches it."""


def run_by_python(text: str, given: Arguments) -> Any:
    """What Python itself makes of ``run(**given)``: a value, or the exception it raises.

    Raises LeftOpen where there is no answer to compare with.
    """
    with _imported({**FILES, PROGRAM: text}) as modules, _at_most(MOST_LINES, modules):
        try:
            return modules[PROGRAM].run(**copy.deepcopy(given))
        except RuntimeError as error:
            # Some changes of a dict that is gone through Python does not even notice.
            if isinstance(error, RecursionError) or "during iteration" in str(error):
                raise LeftOpen from error
            return error
        except Exception as error:
            return error


@contextlib.contextmanager
def _imported(files: dict[str, str]) -> Iterator[dict[str, ModuleType]]:
    """The files as modules of the package ``made``, imported in their order."""
    made: dict[str, ModuleType] = {}
    try:
        for path in files:
            name = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            made[path] = sys.modules[name] = ModuleType(name)
            made[path].__dict__["__package__"] = "made"
        made["made/__init__.py"].__dict__["__path__"] = []
        for path in sorted(files, key=lambda p: (p == PROGRAM, p == "made/__init__.py")):
            exec(_compiled(path, files[path]), made[path].__dict__)
            name = made[path].__name__
            if "." in name:
                setattr(sys.modules["made"], name.rpartition(".")[2], made[path])
        yield made
    finally:
        for module in made.values():
            sys.modules.pop(module.__name__, None)


@cache
def _compiled_once(path: str) -> CodeType:
    return compile(FILES[path], path, "exec")


def _compiled(path: str, text: str) -> CodeType:
    return _compiled_once(path) if path in FILES else compile(text, path, "exec")


def _is_large(value: object) -> bool:
    if isinstance(value, int):
        return value.bit_length() > MOST_ELEMENTS
    return isinstance(value, (str, list, tuple, dict)) and len(value) > MOST_ELEMENTS


@contextlib.contextmanager
def _at_most(lines: int, modules: dict[str, ModuleType]) -> Iterator[None]:
    """Raises LeftOpen in the running program after so many of its lines, or when a variable gets
    very large."""
    count = itertools.count()
    own = {id(vars(module)) for module in modules.values()}

    def watch(frame: FrameType, event: str, argument: object) -> Any:
        if id(frame.f_globals) not in own:
            return None  # a generator of an earlier program, which Python throws away only now
        if next(count) > lines or any(map(_is_large, frame.f_locals.values())):
            raise LeftOpen
        return watch

    def give_up(number: int, frame: FrameType | None) -> None:
        raise LeftOpen

    before, handler = sys.gettrace(), signal.signal(signal.SIGVTALRM, give_up)
    sys.settrace(watch)
    # Where what ``watch`` raised is lost (in a generator that is thrown away, for one), Python
    # does not call it again.
    signal.setitimer(signal.ITIMER_VIRTUAL, MOST_SECONDS, MOST_SECONDS)
    try:
        yield
        if next(count) > lines:
            raise LeftOpen
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, handler)
        sys.settrace(before)
