"""What Python itself makes of a random program: its text was made here, nothing of it is foreign.

Some programs have no answer to compare with: Python would take too long, or comes to what the
language leaves open.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import itertools
import signal
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from types import CodeType, FrameType, ModuleType
from typing import Any

from tests.code.random_programs.modules import FILES, PROGRAM
from tests.code.random_programs.programs import Arguments

MOST_LINES = 20_000
"""After so many lines Python gives up on a program."""
MOST_SECONDS = 2
"""Of a processor's time; what takes longer is given up."""
MOST_ELEMENTS = 4_000
"""So it does when a variable holds a text or container of more, or a number of more bits."""


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
            made[path].__dict__.update(__package__="made", **{_STEADY: _steady})
        made["made/__init__.py"].__dict__["__path__"] = []
        for path in sorted(files, key=lambda p: (p == PROGRAM, p == "made/__init__.py")):
            exec(_compiled(path, files[path]), made[path].__dict__)
            name = made[path].__name__
            if "." in name:
                setattr(sys.modules["made"], name.rpartition(".")[2], made[path])
        with _hiding_addresses(made.values()):
            yield made
    finally:
        for module in made.values():
            sys.modules.pop(module.__name__, None)


def _compiled(path: str, text: str) -> CodeType:
    return _compiled_once(path) if path in FILES else _compile(path, text)


@cache
def _compiled_once(path: str) -> CodeType:
    return _compile(path, FILES[path])


def _compile(path: str, text: str) -> CodeType:
    return compile(ast.fix_missing_locations(_Steadily().visit(ast.parse(text))), path, "exec")


# -- addresses -------------------------------------------------------------------------


@contextlib.contextmanager
def _hiding_addresses(modules: Iterable[ModuleType]) -> Iterator[None]:
    """LeftOpen is raised where the program shows an object that says no more of itself than where it
    stands in memory: no two runs show the same."""
    values = [value for module in modules for value in vars(module).values()]
    classes = {value for value in values if isinstance(value, type) and value.__module__.startswith("made")}
    bare = [each for each in classes if each.__repr__ is object.__repr__]
    for each in bare:
        each.__repr__ = _shows_its_address  # type: ignore[method-assign]
    try:
        yield
    finally:
        for each in bare:
            del each.__repr__


def _shows_its_address(shown: object) -> str:
    raise LeftOpen


# -- dicts that change while they are gone through -------------------------------------

_STEADY = "__steady__"
_VIEWS = (type({}.keys()), type({}.values()), type({}.items()))


class _Steadily(ast.NodeTransformer):
    """Every ``for x in xs``, those of comprehensions too, goes through ``_steady(xs)``."""

    def visit_For(self, node: ast.For) -> ast.For:
        self.generic_visit(node)
        node.iter = self._watched(node.iter)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.comprehension:
        self.generic_visit(node)
        node.iter = self._watched(node.iter)
        return node

    @staticmethod
    def _watched(items: ast.expr) -> ast.expr:
        return ast.copy_location(ast.Call(ast.Name(_STEADY, ast.Load()), [items], []), items)


def _steady(items: Any) -> Any:
    """The same items; LeftOpen is raised where they are of a dict and its keys, or their order,
    have changed since the last one: the language leaves open what comes then."""
    if isinstance(items, dict):
        return _while_keys_stay(items, items)
    return _while_keys_stay(items.mapping, items) if isinstance(items, _VIEWS) else items


def _while_keys_stay(source: Iterable[Any], items: Iterable[Any]) -> Iterator[Any]:
    keys = list(source)
    given = 0
    for item in items:
        yield item
        given += 1
        if list(source) != keys:
            raise LeftOpen
    if given != len(keys):  # put back as they were, and still Python has lost its place
        raise LeftOpen


# -- what takes too long ---------------------------------------------------------------


def _is_large(value: object) -> bool:
    if isinstance(value, int):
        return value.bit_length() > MOST_ELEMENTS
    return isinstance(value, (str, list, tuple, dict)) and len(value) > MOST_ELEMENTS


@contextlib.contextmanager
def _at_most(lines: int, modules: dict[str, ModuleType]) -> Iterator[None]:
    """Raises LeftOpen in the running program after so many of its lines, or when a variable gets
    very large.

    It is raised once more at the end: in a generator that Python throws away it would be lost,
    as is whatever such a generator raises itself.
    """
    count = itertools.count()
    own = {id(vars(module)) for module in modules.values()}
    gave_up = False

    def give_up() -> None:
        nonlocal gave_up
        gave_up = True
        raise LeftOpen

    def watch(frame: FrameType, event: str, argument: object) -> Any:
        if id(frame.f_globals) not in own:
            return None  # a generator of an earlier program, which Python throws away only now
        if next(count) > lines or any(map(_is_large, frame.f_locals.values())):
            give_up()
        return watch

    before, handler, lost = (
        sys.gettrace(),
        signal.signal(signal.SIGVTALRM, lambda *_: give_up()),
        sys.unraisablehook,
    )
    sys.settrace(watch)
    sys.unraisablehook = lambda raised: None
    # Python does not call ``watch`` again after it raised; the time is looked at again and again.
    signal.setitimer(signal.ITIMER_VIRTUAL, MOST_SECONDS, MOST_SECONDS)
    try:
        yield
        if gave_up:
            raise LeftOpen
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, handler)
        sys.unraisablehook = lost
        sys.settrace(before)
