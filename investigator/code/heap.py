"""Joins of two states of the interpreted program's objects, and of two values.

Where the sides of an undecided condition disagree the join is ``OneOf`` (few known options) or
``Unknown``, which remembers the objects it may be.
"""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from investigator.code.values import (
    ABSENT,
    BoundMethod,
    ClassValue,
    FunctionValue,
    Instance,
    IntMember,
    ModuleValue,
    NativeMethod,
    OneOf,
    Partial,
    Stream,
    StrMember,
    Unknown,
    Value,
    View,
    derived,
    is_spread,
)

Container = dict[Any, Any] | list[Any] | set[Any]
T = TypeVar("T", bound=Container)
Contents = dict[int, tuple[Container, Container]]
"""Containers by id, each with a content it had at some moment."""

MAX_OPTIONS = 4


def weight(content: Container) -> int:
    """How much work a join of this content is: its elements, and the objects that those hide."""
    values = content.values() if isinstance(content, dict) else content
    held = (option for value in values for option in _options(value) if isinstance(option, Unknown))
    return len(content) + sum(len(unknown.hides) for unknown in held)


def join_states(one: Contents, two: Contents, because: Unknown) -> Contents:
    """The join of two states that were reached from the present one."""
    joined: Contents = {}
    for key in [*one, *(k for k in two if k not in one)]:
        container = (one.get(key) or two[key])[0]
        here = one[key][1] if key in one else container
        there = two[key][1] if key in two else container
        content = join_contents(here, there, because)
        joined[key] = (container, content.copy() if content is container else content)
    return joined


def join_contents(here: Container, there: Container, because: Unknown) -> Container:
    """The join of two contents of one container; ``here`` itself when they agree."""
    if isinstance(here, dict) and isinstance(there, dict):
        return _join_dicts(here, there, because)
    if isinstance(here, list) and isinstance(there, list):
        return _join_lists(here, there, because)
    if isinstance(here, set) and isinstance(there, set):
        common = {item for item in here if item in there}
        rest = [item for item in (*here, *there) if item not in common]
        return {*common, spread(because, *rest)} if rest else here
    raise TypeError("a container changed its kind")


def _join_dicts(here: dict[Any, Any], there: dict[Any, Any], because: Unknown) -> dict[Any, Any]:
    order = _merged_order(list(here), list(there))
    if order is None:
        rest = [*here, *here.values(), *there, *there.values()]
        return {spread(because, *rest): Unknown(because.reason, because.place, hides=roots(*rest))}
    joined = {
        key: join_values(_at(here, key), _at(there, key), because)
        for key in order
        if not is_spread(key) or (key in here and key in there)
    }
    loose = [key for key in order if key not in joined]
    if loose:
        values = [value[key] for key in loose for value in (here, there) if key in value]
        joined[spread(because, *loose)] = Unknown(because.reason, because.place, hides=roots(*values))
    unchanged = len(joined) == len(here) and all(k in joined and joined[k] is here[k] for k in here)
    return here if unchanged else joined


def _at(content: dict[Any, Any], key: Any) -> Value:
    """What a dict holds at a key that is not spread: ABSENT, or an undecided entry, among others."""
    if key in content:
        return content[key]
    value: Value = ABSENT
    for loose, other in content.items():
        if is_spread(loose):
            value = join_values(value, other, loose)
    return value


def _merged_order(one: list[Any], two: list[Any]) -> list[Any] | None:
    """One order of keys in which both orders stand; None when they disagree."""
    if one == two:
        return one
    in_one, in_two = set(one), set(two)
    if [key for key in one if key in in_two] != [key for key in two if key in in_one]:
        return None
    merged: list[Any] = []
    rest = iter(two)
    for key in one:
        if key in in_two:
            for other in rest:
                if other == key:
                    break
                merged.append(other)
        merged.append(key)
    return [*merged, *rest]


def _join_lists(here: list[Any], there: list[Any], because: Unknown) -> list[Any]:
    common: list[Value] = []
    for a, b in zip(here, there, strict=False):
        if not same(a, b):
            break
        common.append(a)
    left, right = here[len(common) :], there[len(common) :]
    if not left and not right:
        return here
    if len(left) == len(right) and not any(is_spread(item) for item in (*left, *right)):
        return [*common, *(join_values(a, b, because) for a, b in zip(left, right, strict=True))]
    return [*common, spread(because, *left, *right)]


def spread(because: Unknown, *stands_for: Value) -> Unknown:
    """Stands for any number of elements, for a reason; ``stands_for``: elements it may be."""
    hides = roots(because, *stands_for)
    return Unknown(because.reason, because.place, because.not_followed, spread=True, hides=hides)


def lost(because: Unknown, *values: Value) -> Unknown:
    """``because``, as what became of some values: it may be any object among them."""
    found = roots(*(v for v in values if not (isinstance(v, Unknown) and v.hides is because.hides)))
    if not found or set(map(which, found)) <= set(map(which, because.hides)):
        return derived(because)
    hides = _distinct((*because.hides, *found))
    return Unknown(because.reason, because.place, because.not_followed, because.spread, None, hides)


def roots(*values: Value) -> tuple[Value, ...]:
    """The objects that can be changed, or can change others, among some values."""
    stack = [value for value in reversed(values) if type(value) not in _PLAIN]
    if not stack:
        return ()
    found: dict[int, Value] = {}
    seen: set[int] = set()
    while stack:
        value = stack.pop()
        if isinstance(value, _CHANGEABLE):
            found.setdefault(which(value), value)
        elif isinstance(value, Unknown):
            found.update(zip(map(which, value.hides), value.hides, strict=True))
        elif not isinstance(value, _HOLDING) or id(value) in seen:
            continue
        else:
            seen.add(id(value))
            stack.extend(reversed(_held(value)))
    return tuple(found.values())


_PLAIN = frozenset([int, str, bool, float, type(None)])
_CHANGEABLE = (list, dict, set, Instance, Stream, FunctionValue, ClassValue)
_HOLDING = (OneOf, tuple, frozenset, View, BoundMethod, NativeMethod, Partial)


def _held(value: Value) -> Sequence[Value]:
    """What a value that cannot be changed itself holds."""
    if isinstance(value, OneOf):
        return value.options
    if isinstance(value, (tuple, frozenset)):
        return tuple(value)
    if isinstance(value, View):
        return (value.source,)
    if isinstance(value, BoundMethod):
        return (value.function, value.receiver)
    if isinstance(value, NativeMethod):
        return (value.receiver,)
    return (value.function, *value.arguments, *value.keywords.values())


def _distinct(values: Iterable[Value]) -> tuple[Value, ...]:
    return tuple({which(value): value for value in values}.values())


def which(root: Value) -> int:
    """What tells objects apart that may be changed. A function does by what it closes over, which is all
    that a call of it can change: the same lambda, made anew in each round of a loop, is one."""
    return id(root.scope if isinstance(root, FunctionValue) else root)


def same(a: Value, b: Value) -> bool:
    """Whether two values are surely one: the same object, or equal and never to be changed
    (``1`` and ``True`` are not the same, nor are two equal lists)."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, tuple):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, (StrMember, IntMember)):
        return False
    if isinstance(a, float):
        return repr(a) == repr(b)
    if isinstance(a, NativeMethod):
        return a.name == b.name and same(a.receiver, b.receiver)
    if isinstance(a, BoundMethod):
        return a.function is b.function and same(a.receiver, b.receiver)
    if isinstance(a, ModuleValue):
        return a.module is b.module
    if isinstance(a, (Unknown, OneOf, list, dict, set, frozenset, Instance)):
        return False
    return bool(a == b)


def join_values(a: Value, b: Value, because: Unknown) -> Value:
    """``a`` where the two are the same; else what is known about either."""
    if same(a, b):
        return a
    options: list[Value] = []
    undecided: list[Unknown] = []
    absent = False
    for option in (*_options(a), *_options(b)):
        if option is ABSENT:
            absent = True
        elif isinstance(option, Unknown):
            undecided.append(option)
        elif not any(same(option, known) for known in options):
            options.append(option)
    if len(options) > MAX_OPTIONS:
        undecided.append(lost(because, *options))
        options = []
    if undecided:
        options.append(_one_unknown(undecided))
    if absent:
        options.append(ABSENT)
    return options[0] if len(options) == 1 else OneOf(tuple(options), because.place, because)


def _one_unknown(undecided: list[Unknown]) -> Unknown:
    """One that stands for any of several; the one that names a callee left alone is preferred."""
    first = next((u for u in undecided if u.not_followed is not None), undecided[0])
    truths = {u.truth for u in undecided}
    truth = truths.pop() if len(truths) == 1 else None
    told_apart = {id(u.hides): u for u in undecided if u.hides}
    hides = roots(*told_apart.values()) if len(told_apart) != 1 else next(iter(told_apart.values())).hides
    if first.truth == truth and len(first.hides) == len(hides):
        return first
    return Unknown(first.reason, first.place, first.not_followed, first.spread, truth, hides)


def _options(value: Value) -> Iterable[Value]:
    return value.options if isinstance(value, OneOf) else (value,)


def without_absent(value: Value) -> Value:
    """The value, taken to be there; ABSENT itself when it surely is not."""
    if isinstance(value, OneOf) and ABSENT in value.options:
        rest = tuple(option for option in value.options if option is not ABSENT)
        return rest[0] if len(rest) == 1 else OneOf(rest, value.place, value.because)
    return value


def may_be_absent(value: Value) -> bool:
    """Whether a variable, attribute or key with this value may not be there."""
    return value is ABSENT or (isinstance(value, OneOf) and ABSENT in value.options)


def settled(value: Value) -> Value:
    """The value, for somebody who only looks at it: a choice among equal things is one of them."""
    if isinstance(value, OneOf) and all(looks_same(value.options[0], o) for o in value.options[1:]):
        return value.options[0]
    return value


def looks_same(a: Value, b: Value, depth: int = 6) -> bool:
    """Whether two values, containers of the same content among them, look the same."""
    if same(a, b):
        return True
    if type(a) is not type(b) or depth == 0:
        return False
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(looks_same(x, y, depth - 1) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict):
        return list(a) == list(b) and all(looks_same(a[key], b[key], depth - 1) for key in a)
    return isinstance(a, (set, frozenset)) and a == b


def blurred(before: Container, after: list[Container], keys: set[Any] | None, because: Unknown) -> Container:
    """The content of a container of which it is not known which of some changes it has seen, and
    in what state between them it is. ``keys``: those of a dict that were changed (None: any)."""
    if isinstance(before, list):
        return [spread(because, *before, *(item for content in after for item in content))]
    if isinstance(before, set):
        return {spread(because, *before, *(item for content in after for item in content))}
    states = [content for content in after if isinstance(content, dict)]
    touched = keys if keys is not None else {*before, *(key for state in states for key in state)}
    made: dict[Any, Any] = {}
    for key in {**before, **{k: None for state in states for k in state}}:
        values = [state.get(key, ABSENT) for state in (before, *states)]
        if key not in touched:
            made[key] = values[0]
            continue
        wide = lost(because, *values)
        made[key] = OneOf((wide, ABSENT), because.place, because) if any(map(may_be_absent, values)) else wide
    return made
