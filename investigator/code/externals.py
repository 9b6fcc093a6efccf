"""Functions from outside the tree whose meaning is known: of itertools, functools, copy, os, ..."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tree_sitter import Node

from investigator.code.classes import class_attribute
from investigator.code.dataclass_fields import fields, is_dataclass, made_field
from investigator.code.effects import take_items
from investigator.code.enums import is_enum
from investigator.code.frames import Frame
from investigator.code.heap import lost, spread
from investigator.code.iteration import iterate, stream_over
from investigator.code.streams import go_astray, pull
from investigator.code.values import (
    END,
    External,
    FunctionValue,
    Instance,
    OneOf,
    Partial,
    Stream,
    Symbol,
    TracedDict,
    TracedList,
    Unknown,
    Value,
    View,
    find_unknown,
    is_spread,
)

if TYPE_CHECKING:
    from investigator.code.interpreter import Interpreter

Function = Callable[["Interpreter", Frame, Node, tuple[Value, ...], dict[str, Value]], Value]
_SEQUENCES = (list, tuple, range, str, dict, View, Stream)


def _items(interp: Interpreter, frame: Frame, node: Node, value: Value) -> list[Value]:
    found = iterate(interp, frame, node, value)
    return [spread(found)] if isinstance(found, Unknown) else found


def _has_method(interp: Interpreter, owner: Instance, name: str) -> bool:
    return owner.cls is not None and class_attribute(interp, owner.cls, name) is not NotImplemented


def _islice(
    interp: Interpreter, frame: Frame, node: Node, args: tuple[Value, ...], kwargs: dict[str, Value]
) -> Value:
    missing = find_unknown(args[1:])
    if len(args) not in (2, 3, 4) or isinstance(args[0], (Unknown, OneOf)) or missing is not None:
        return lost(missing or find_unknown(args) or Unknown("islice of something not followed"), *args)
    bounds = args[1:]
    if not all(bound is None or isinstance(bound, int) for bound in bounds):
        return Unknown("islice with bounds that are no numbers")
    start, stop, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, None)[:3]
    start, step = start or 0, step or 1
    if start < 0 or step < 1 or (stop is not None and stop < 0):
        raise interp.fail("ValueError", "islice() takes None or integers from 0 on", frame, node)
    source = stream_over(interp, frame, node, args[0])
    taken = interp.journal.born([0, start])

    def at(n: int) -> Value:
        """Item by item, so that the source is used up as far as Python uses it."""
        while stop is None or taken[1] < stop:
            item = pull(interp, frame, node, source)
            if item is END:
                return END
            interp.journal.touch(taken)
            if is_spread(item):
                taken[1] = stop if stop is not None else 0
                rest = []
                while stop is None and (more := pull(interp, frame, node, source)) is not END:
                    rest.append(more)
                return END if stop == 0 else spread(item, *rest)
            position = taken[0]
            taken[0] += 1
            if position == taken[1]:
                taken[1] += step
                return item
        return END

    return Stream(at, interp.journal.born([0]), astray=lambda: go_astray(interp, source))


def _chain(
    interp: Interpreter, frame: Frame, node: Node, args: tuple[Value, ...], kwargs: dict[str, Value]
) -> Value:
    sources = list(args)
    state: list[Any] = interp.journal.born([0, None])

    def at(n: int) -> Value:
        while state[0] < len(sources):
            interp.journal.touch(state)
            if state[1] is None:
                state[1] = stream_over(interp, frame, node, sources[state[0]])
            item = pull(interp, frame, node, state[1])
            if item is not END:
                return item
            state[0], state[1] = state[0] + 1, None
        return END

    return Stream(at, interp.journal.born([0]), astray=lambda: take_items(interp, (*sources, state[1])))


def _from_iterables(
    interp: Interpreter, frame: Frame, node: Node, args: tuple[Value, ...], kwargs: dict[str, Value]
) -> Value:
    items = _items(interp, frame, node, args[0]) if args else []
    if any(is_spread(item) for item in items):
        loose = next(item for item in items if is_spread(item))
        return stream_over(interp, frame, node, [spread(loose, *items)])
    return _chain(interp, frame, node, tuple(items), {})


def _getenv(
    interp: Interpreter, frame: Frame, node: Node, args: tuple[Value, ...], kwargs: dict[str, Value]
) -> Value:
    default = args[1] if len(args) > 1 else kwargs.get("default")
    if not args or not isinstance(args[0], str):
        return Unknown("an environment variable whose name is not known")
    return interp.environment.get(args[0], default)


def _partial(
    interp: Interpreter, frame: Frame, node: Node, args: tuple[Value, ...], kwargs: dict[str, Value]
) -> Value:
    return Partial(args[0], args[1:], kwargs) if args else Unknown("partial() of nothing")


def _modules(
    interp: Interpreter, frame: Frame, node: Node, args: tuple[Value, ...], kwargs: dict[str, Value]
) -> Value:
    """``ModuleList`` holds the modules it is given: a list of its own."""
    if not args:
        return interp.journal.born([])
    return (
        interp.journal.born(_items(interp, frame, node, args[0]))
        if isinstance(args[0], _SEQUENCES)
        else args[0]
    )


def _cast(
    interp: Interpreter, frame: Frame, node: Node, args: tuple[Value, ...], kwargs: dict[str, Value]
) -> Value:
    return args[1] if len(args) == 2 else kwargs.get("val", Unknown("cast() of nothing"))


def _copy(
    interp: Interpreter, frame: Frame, node: Node, args: tuple[Value, ...], kwargs: dict[str, Value]
) -> Value:
    return _copied(interp, frame, node, args[0], {}, deep=False) if args else Unknown("copy() of nothing")


def _deepcopy(
    interp: Interpreter, frame: Frame, node: Node, args: tuple[Value, ...], kwargs: dict[str, Value]
) -> Value:
    return _copied(interp, frame, node, args[0], {}, deep=True) if args else Unknown("deepcopy() of nothing")


def _own_copy(interp: Interpreter, frame: Frame, node: Node, value: Instance, *, deep: bool) -> Value:
    """What ``__copy__`` or ``__deepcopy__`` gives; NotImplemented where the class has none."""
    name = "__deepcopy__" if deep else "__copy__"
    args: tuple[Value, ...] = ({},) if deep else ()
    method = class_attribute(interp, value.cls, name) if value.cls is not None else NotImplemented
    if not isinstance(method, FunctionValue):
        return NotImplemented
    return interp.call(frame, node, method, (value, *args), {})


def _copied(
    interp: Interpreter, frame: Frame, node: Node, value: Value, seen: dict[int, Value], *, deep: bool
) -> Value:
    """A copy of a value, with copies of its parts where it is deep. What an object works out on
    demand is worked out for the copy as for the object."""
    if id(value) in seen:
        return seen[id(value)]

    def inner(part: Value) -> Value:
        return _copied(interp, frame, node, part, seen, deep=True) if deep else part

    interp.charged += 1
    if isinstance(value, View):
        raise interp.fail("TypeError", f"cannot copy the {value!r}", frame, node)
    if isinstance(value, Stream):
        return lost(Unknown("a copy of an iterator", frame.module.place(node)), value)
    if isinstance(value, Instance) and value.cls is not None and is_enum(interp, value.cls):
        return value
    if isinstance(value, Instance):
        own = _own_copy(interp, frame, node, value, deep=deep)
        if own is not NotImplemented:
            return own
        made = replace(value, attributes=interp.journal.born({}))
        seen[id(value)] = made
        made.attributes.update({name: inner(part) for name, part in value.attributes.items()})
        return made
    if isinstance(value, list):
        items: list[Value] = TracedList() if isinstance(value, TracedList) else []
        if isinstance(value, TracedList) and isinstance(items, TracedList):
            items.label = value.label
        seen[id(value)] = interp.journal.born(items)
        items.extend(map(inner, value))
        return items
    if isinstance(value, dict):
        entries: dict[Value, Value] = TracedDict() if isinstance(value, TracedDict) else {}
        if isinstance(value, TracedDict) and isinstance(entries, TracedDict):
            entries.label = value.label
        seen[id(value)] = interp.journal.born(entries)
        entries.update({key: inner(part) for key, part in value.items()})
        return entries
    if isinstance(value, set):
        return interp.journal.born(set(value))
    if isinstance(value, tuple):
        return tuple(map(inner, value))
    if isinstance(value, OneOf):
        return OneOf(tuple(map(inner, value.options)), value.place, value.because)
    return value


def _replaced(
    interp: Interpreter, frame: Frame, node: Node, args: tuple[Value, ...], kwargs: dict[str, Value]
) -> Value:
    """``dataclasses.replace(object, **changes)``: an object made anew of its fields. One that is
    not known whole is copied, unless it has a ``__post_init__``."""
    if len(args) == 1 and (made := _made_anew(interp, frame, node, args[0], kwargs)) is not NotImplemented:
        return made
    if len(args) == 1 and isinstance(args[0], Instance) and not _has_method(interp, args[0], "__post_init__"):
        made = replace(args[0], attributes=interp.journal.born(dict(args[0].attributes)))
        made.attributes.update({k: v for k, v in kwargs.items() if not is_spread(k)})
        made.complete = made.complete and not any(is_spread(k) for k in kwargs)
        return made
    return lost(find_unknown(args) or Unknown("replace() of something not followed"), *args)


@dataclass(frozen=True)
class LiteralType(Symbol):
    """``Literal[...]``: the values that it names, those of literals among them in their place."""

    values: tuple[Value, ...]


LITERAL = (External("typing.Literal"), External("typing_extensions.Literal"))


def literal_type(key: Value) -> LiteralType:
    """``Literal[key]``; a value that is named twice counts once."""
    found: list[Value] = []
    for value in key if isinstance(key, tuple) else (key,):
        found += value.values if isinstance(value, LiteralType) else [value]
    plain = [value for value in found if isinstance(value, (str, int, type(None)))]
    once = list({(type(value), value): value for value in plain}.values())
    return LiteralType(tuple(once if len(plain) == len(found) else found))


def _get_args(
    interp: Interpreter, frame: Frame, node: Node, args: tuple[Value, ...], kwargs: dict[str, Value]
) -> Value:
    """``typing.get_args``, of a literal type alone."""
    if len(args) == 1 and isinstance(args[0], LiteralType):
        return args[0].values
    return Unknown("get_args() of a type that is not followed", frame.module.place(node))


class ModuleDict(dict[Any, Any]):
    """A ``torch.nn.ModuleDict``: a dict that knows what made it."""


def _module_dict(
    interp: Interpreter, frame: Frame, node: Node, args: tuple[Value, ...], kwargs: dict[str, Value]
) -> Value:
    """``torch.nn.ModuleDict({...})``: the dict."""
    if kwargs or len(args) > 1 or (args and not isinstance(args[0], dict)):
        return Unknown("ModuleDict of something not followed", frame.module.place(node))
    made = ModuleDict(args[0] if args else {})
    interp.journal.born(made)
    return made


def _made_anew(interp: Interpreter, frame: Frame, node: Node, old: Value, changes: dict[str, Value]) -> Value:
    """An object of the same class from the fields of a whole one; NotImplemented for any other."""
    if not isinstance(old, Instance) or old.cls is None or not old.complete or any(map(is_spread, changes)):
        return NotImplemented
    if old.made_by is not None or old.label is not None or not is_dataclass(interp, old.cls):
        return NotImplemented
    known = fields(interp, old.cls)
    if any(name not in old.attributes for name in known):
        return NotImplemented
    fixed = [name for name in changes if name in known and not known[name].initialised]
    if fixed:
        raise interp.fail("ValueError", f"field {fixed[0]} cannot be given", frame, node)
    given = {name: old.attributes[name] for name, entry in known.items() if entry.initialised}
    return interp.construct(old.cls, (), {**given, **changes}, frame.module.place(node))


FUNCTIONS: dict[str, Function] = {
    "itertools.islice": _islice,
    "itertools.chain": _chain,
    "itertools.chain.from_iterable": _from_iterables,
    "os.getenv": _getenv,
    "os.environ.get": _getenv,
    "functools.partial": _partial,
    "typing.cast": _cast,
    "typing.get_args": _get_args,
    "typing_extensions.get_args": _get_args,
    "copy.copy": _copy,
    "copy.deepcopy": _deepcopy,
    "torch.nn.ModuleList": _modules,
    "torch.nn.ModuleDict": _module_dict,
    "dataclasses.field": made_field,
    "dataclasses.replace": _replaced,
    "pydantic.Field": made_field,
    "pydantic.fields.Field": made_field,
    "enum.auto": lambda interp, frame, node, args, kwargs: External("enum.auto"),
}
"""By dotted name."""
