"""Python's builtins, the methods of its plain values, and a few functions from outside.

Only what is listed here is computed; anything else is ``Unknown``. Nothing here can run
foreign code: arguments are plain values, never callables of the host.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tree_sitter import Node

from investigator.code.heap import spread
from investigator.code.syntax import Place
from investigator.code.trace import Happening
from investigator.code.values import (
    BoundMethod,
    Builtin,
    ClassValue,
    ExceptionValue,
    External,
    FunctionValue,
    Instance,
    NativeMethod,
    OneOf,
    Partial,
    Symbol,
    TracedDict,
    TracedList,
    Unknown,
    Value,
    find_unknown,
    is_unknown,
)

if TYPE_CHECKING:
    from investigator.code.interpreter import Frame, Interpreter

MAX_RANGE = 100_000
_PLAIN = (int, float, str, bool, type(None))
_TYPES: dict[str, type | tuple[type, ...]] = {
    "int": int,
    "float": float,
    "str": str,
    "bool": bool,
    "list": list,
    "tuple": tuple,
    "dict": dict,
    "set": set,
    "frozenset": frozenset,
    "slice": slice,
    "range": range,
}
_METHODS: dict[type, frozenset[str]] = {
    str: frozenset(
        [
            "startswith",
            "endswith",
            "lower",
            "upper",
            "strip",
            "lstrip",
            "rstrip",
            "split",
            "rsplit",
            "join",
            "replace",
            "removeprefix",
            "removesuffix",
            "partition",
            "rpartition",
            "isdigit",
            "find",
            "index",
            "count",
            "title",
            "capitalize",
        ]
    ),
    list: frozenset(
        ["append", "extend", "insert", "pop", "remove", "index", "count", "copy", "clear", "sort", "reverse"]
    ),
    tuple: frozenset(["index", "count"]),
    dict: frozenset(["get", "items", "keys", "values", "update", "pop", "setdefault", "copy", "clear"]),
    set: frozenset(
        [
            "add",
            "update",
            "discard",
            "remove",
            "union",
            "intersection",
            "difference",
            "issubset",
            "issuperset",
            "copy",
            "isdisjoint",
            "symmetric_difference",
            "difference_update",
            "intersection_update",
            "clear",
        ]
    ),
    frozenset: frozenset(
        ["union", "intersection", "difference", "issubset", "issuperset", "copy", "isdisjoint"]
    ),
    int: frozenset(["bit_length"]),
    float: frozenset(["is_integer"]),
}
_MUTATING = frozenset(
    [
        "append",
        "extend",
        "insert",
        "pop",
        "remove",
        "clear",
        "sort",
        "reverse",
        "update",
        "setdefault",
        "add",
        "discard",
        "difference_update",
        "intersection_update",
    ]
)


def is_builtin(name: str) -> bool:
    """Whether Python's builtins have this name."""
    return hasattr(builtins, name)


def is_subclass_of_builtin(name: str, parent: str) -> bool:
    """Whether two builtin exception classes are so related."""
    a, b = getattr(builtins, name, None), getattr(builtins, parent, None)
    return isinstance(a, type) and isinstance(b, type) and issubclass(a, b)


def hashable(value: Value) -> bool:
    """Whether a value can be a dict key here."""
    if isinstance(value, tuple):
        return all(hashable(item) for item in value)
    return not isinstance(value, (list, dict, set))


def make_set(items: list[Value], place: Place) -> Value:
    """A set of decided, hashable items; an undecided item stands for any number of them."""
    return {
        item
        if hashable(item) and not is_unknown(item)
        else spread(find_unknown(item) or Unknown("item", place))
        for item in items
    }


def iterate(interp: Interpreter, frame: Frame, node: Node, value: Value) -> list[Value] | Unknown:
    """The items that a loop over the value sees, in order."""
    if isinstance(value, (list, tuple, range)):
        return list(value)
    if isinstance(value, dict):
        return list(value)
    if isinstance(value, (set, frozenset)):
        missing = next((item for item in value if isinstance(item, Unknown)), None)
        if missing is not None:
            return missing
        try:
            return sorted(value)  # one order, the same in every run
        except TypeError:
            return sorted(value, key=repr)
    if isinstance(value, str):
        return list(value)
    return find_unknown(value) or Unknown("iteration over something not followed", frame.module.place(node))


def attribute(owner: Value, name: str, place: Place) -> Value:
    """An attribute of a plain value, or of a function or class object."""
    for kind, names in _METHODS.items():
        if isinstance(owner, kind):
            if name in names:
                return NativeMethod(owner, name)
            if isinstance(owner, (TracedDict, TracedList)) or not hasattr(kind, name):
                return NotImplemented
            return Unknown(f"{kind.__name__}.{name} is outside the subset", place)
    if owner is None:
        return NotImplemented
    if isinstance(owner, (FunctionValue, ClassValue)) and name in ("__name__", "__qualname__"):
        return owner.name
    if isinstance(owner, Builtin):
        return NativeMethod(owner, name)
    return Unknown(f"attribute {name} of {type(owner).__name__}", place)


def set_item(interp: Interpreter, owner: Value, key: Value, value: Value) -> None:
    """``owner[key] = value`` for dicts and lists; dropped for anything else."""
    if isinstance(owner, dict):
        interp.journal.touch(owner)
        if is_unknown(key) or not hashable(key):
            owner[spread(find_unknown(key) or Unknown("a key that is not plain"))] = value
        else:
            owner[key] = value
    elif isinstance(owner, list):
        interp.journal.touch(owner)
        if isinstance(key, int) and -len(owner) <= key < len(owner):
            owner[key] = value
        else:
            owner[:] = [spread(find_unknown(key) or Unknown("an index that is not plain"))]


# -- methods of plain values -----------------------------------------------------------


def call_method(
    interp: Interpreter,
    frame: Frame,
    node: Node,
    method: NativeMethod,
    args: tuple[Value, ...],
    kwargs: dict[str, Value],
) -> Value:
    """``receiver.name(*args)``."""
    receiver, name, place = method.receiver, method.name, frame.module.place(node)
    if isinstance(receiver, Builtin):
        if receiver.name == "dict" and name == "fromkeys" and args:
            keys = iterate(interp, frame, node, args[0])
            if not isinstance(keys, Unknown):
                return dict.fromkeys(keys, args[1] if len(args) > 1 else None)
        return Unknown(f"{receiver.name}.{name} is outside the subset", place)
    if isinstance(receiver, dict):
        return _dict_method(interp, frame, node, receiver, name, args, kwargs)
    if name in _MUTATING and isinstance(receiver, (list, set)):
        return _mutate(interp, frame, node, receiver, name, args)
    missing = find_unknown(args) or find_unknown(kwargs)
    if missing is None and isinstance(receiver, (list, tuple, set, frozenset)):
        missing = find_unknown(receiver)
    if missing is not None:
        return missing
    if any(isinstance(arg, (Instance, Symbol, External, FunctionValue)) for arg in args):
        return Unknown(f"{name} of something not plain", place)
    try:
        return getattr(receiver, name)(*args, **kwargs)
    except (ValueError, TypeError, IndexError, KeyError, AttributeError) as error:
        raise interp.fail(type(error).__name__, str(error), frame, node) from None


def _dict_method(
    interp: Interpreter,
    frame: Frame,
    node: Node,
    receiver: dict[Any, Any],
    name: str,
    args: tuple[Value, ...],
    kwargs: dict[str, Value],
) -> Value:
    uncertain = next((key for key in receiver if isinstance(key, Unknown)), None)
    if name in ("get", "pop", "setdefault"):
        key = args[0] if args else None
        default = args[1] if len(args) > 1 else kwargs.get("default")
        if isinstance(key, OneOf):
            return interp.over(
                key, lambda k: _dict_method(interp, frame, node, receiver, name, (k, *args[1:]), kwargs)
            )
        if isinstance(key, Unknown) or not hashable(key):
            return find_unknown(key) or Unknown("key", frame.module.place(node))
        if isinstance(receiver, TracedDict):
            interp.note(Happening.READ, f"{receiver.label}.{key}", receiver.get(key), frame, node)
        if key in receiver:
            found = receiver[key]
            if name == "pop":
                interp.journal.touch(receiver)
                receiver.pop(key)
            return found
        if uncertain is not None:
            return uncertain
        if name == "setdefault":
            interp.journal.touch(receiver)
            receiver[key] = default
        if name == "pop" and len(args) < 2:
            raise interp.fail("KeyError", repr(key), frame, node)
        return default
    if name in ("update", "clear"):
        interp.journal.touch(receiver)
        if name == "clear":
            receiver.clear()
            return None
        other = args[0] if args else {}
        if isinstance(other, dict):
            receiver.update(other)
        elif args:
            receiver[spread(find_unknown(other) or Unknown("update", frame.module.place(node)))] = Unknown(
                "update"
            )
        receiver.update(kwargs)
        return None
    if name == "copy":
        return dict(receiver)
    if name == "items":
        return [(spread(k), v) if isinstance(k, Unknown) else (k, v) for k, v in receiver.items()]
    return list(receiver) if name == "keys" else list(receiver.values())


def _mutate(
    interp: Interpreter,
    frame: Frame,
    node: Node,
    receiver: list[Any] | set[Any],
    name: str,
    args: tuple[Value, ...],
) -> Value:
    interp.journal.touch(receiver)
    place = frame.module.place(node)
    if isinstance(receiver, list) and name == "append" and args:
        receiver.append(args[0])
        interp.note(Happening.APPEND, "append", args[0], frame, node)
        return None
    if isinstance(receiver, list) and name == "extend" and args:
        items = iterate(interp, frame, node, args[0])
        receiver.extend([spread(items)] if isinstance(items, Unknown) else items)
        return None
    if isinstance(receiver, set) and name in ("add", "update") and args:
        items = list(args) if name == "add" else iterate(interp, frame, node, args[0])
        receiver.update(make_set([items] if isinstance(items, Unknown) else items, place))
        return None
    missing = find_unknown(args) or find_unknown(receiver)
    if missing is not None:
        receiver.clear()
        receiver.append(spread(missing)) if isinstance(receiver, list) else receiver.add(spread(missing))
        return missing
    try:
        return getattr(receiver, name)(*args)
    except (ValueError, TypeError, IndexError, KeyError) as error:
        raise interp.fail(type(error).__name__, str(error), frame, node) from None


# -- builtin functions -----------------------------------------------------------------


def call_builtin(
    interp: Interpreter,
    frame: Frame,
    node: Node,
    name: str,
    args: tuple[Value, ...],
    kwargs: dict[str, Value],
) -> Value:
    """``name(*args, **kwargs)`` for one of Python's builtins."""
    place = frame.module.place(node)
    special = _SPECIAL.get(name)
    if special is not None:
        return special(interp, frame, node, args, kwargs)
    if name.endswith(("Error", "Exception", "Warning")):
        return ExceptionValue(name, " ".join(a for a in args if isinstance(a, str)))
    function = _PURE.get(name)
    if function is None:
        return Unknown(f"builtin {name} is outside the subset", place)
    if name == "len" and args and isinstance(args[0], (list, dict, set, tuple)):
        missing = next((i for i in args[0] if isinstance(i, Unknown) and i.spread), None)
    else:
        missing = find_unknown(args) or find_unknown(kwargs)
    if missing is not None:
        return missing
    if any(
        isinstance(arg, (Instance, Symbol, External, FunctionValue, BoundMethod)) for arg in args
    ) or kwargs.get("key"):
        return Unknown(f"{name} of something not plain", place)
    if name == "range" and (any(not isinstance(a, int) for a in args) or len(range(*args)) > MAX_RANGE):
        return Unknown("a range that is very long or not of integers", place)
    try:
        return function(*args, **kwargs)
    except (ValueError, TypeError, ArithmeticError, KeyError) as error:
        raise interp.fail(type(error).__name__, str(error), frame, node) from None


_PURE: dict[str, Callable[..., Value]] = {
    "len": len,
    "range": range,
    "min": min,
    "max": max,
    "sum": sum,
    "abs": abs,
    "round": round,
    "int": int,
    "float": float,
    "str": lambda value="": str(value) if isinstance(value, (*_PLAIN, list, tuple, dict)) else Unknown("str"),
    "repr": lambda value: repr(value) if isinstance(value, _PLAIN) else Unknown("repr"),
    "sorted": lambda items, reverse=False: sorted(items, reverse=reverse),
    "divmod": divmod,
    "ord": ord,
    "chr": chr,
}


def _isinstance(
    interp: Interpreter, frame: Frame, node: Node, args: tuple[Value, ...], kwargs: dict[str, Value]
) -> Value:
    from investigator.code import classes

    value, wanted = args[0], args[1]
    kinds = wanted if isinstance(wanted, tuple) else (wanted,)
    if is_unknown(value):
        if isinstance(value, OneOf):
            return interp.over(value, lambda v: _isinstance(interp, frame, node, (v, wanted), kwargs))
        return value
    undecided: Unknown | None = None
    for kind in kinds:
        answer: bool | None = None
        if isinstance(kind, Builtin) and kind.name in _TYPES:
            answer = isinstance(value, _TYPES[kind.name])
        elif isinstance(kind, Builtin) and kind.name == "type":
            answer = isinstance(value, ClassValue)
        elif isinstance(kind, ClassValue):
            answer = classes.is_instance(interp, value, kind)
        elif isinstance(kind, External):
            short = kind.dotted.rpartition(".")[2]
            if isinstance(value, (*_PLAIN, list, tuple, dict, set)):
                answer = {
                    "Mapping": isinstance(value, dict),
                    "Sequence": isinstance(value, (list, tuple, str)),
                    "Iterable": isinstance(value, (list, tuple, str, dict, set)),
                    "Integral": isinstance(value, int),
                }.get(short, False)
        if answer is True:
            return True
        if answer is None:
            undecided = find_unknown(kind) or Unknown("isinstance", frame.module.place(node))
    return undecided if undecided is not None else False


def _getattr(
    interp: Interpreter, frame: Frame, node: Node, args: tuple[Value, ...], kwargs: dict[str, Value]
) -> Value:
    owner, name = args[0], args[1]
    if isinstance(name, OneOf):
        return interp.over(name, lambda n: _getattr(interp, frame, node, (owner, n, *args[2:]), kwargs))
    if not isinstance(name, str):
        return find_unknown(name) or Unknown("getattr", frame.module.place(node))
    value = interp.attribute_or_missing(frame, node, owner, name)
    if value is not NotImplemented:
        return value
    if len(args) > 2:
        return args[2]
    raise interp.fail("AttributeError", f"{owner!r} has no attribute {name!r}", frame, node)


def _hasattr(
    interp: Interpreter, frame: Frame, node: Node, args: tuple[Value, ...], kwargs: dict[str, Value]
) -> Value:
    owner, name = args[0], args[1]
    if is_unknown(owner) or not isinstance(name, str):
        return find_unknown(args) or Unknown("hasattr", frame.module.place(node))
    value = interp.attribute_or_missing(frame, node, owner, name)
    if value is NotImplemented:
        return False
    if isinstance(owner, Instance) and not owner.complete and isinstance(value, Unknown):
        return value
    return True


def _setattr(
    interp: Interpreter, frame: Frame, node: Node, args: tuple[Value, ...], kwargs: dict[str, Value]
) -> Value:
    if isinstance(args[1], str):
        interp.set_attribute(frame, node, args[0], args[1], args[2])
    return None


def _container(kind: Callable[[list[Value]], Value]) -> Callable[..., Value]:
    def build(
        interp: Interpreter, frame: Frame, node: Node, args: tuple[Value, ...], kwargs: dict[str, Value]
    ) -> Value:
        if not args:
            return kind([])
        items = iterate(interp, frame, node, args[0])
        return items if isinstance(items, Unknown) else kind(items)

    return build


def _set(
    interp: Interpreter, frame: Frame, node: Node, args: tuple[Value, ...], kwargs: dict[str, Value]
) -> Value:
    items = iterate(interp, frame, node, args[0]) if args else []
    return items if isinstance(items, Unknown) else make_set(items, frame.module.place(node))


def _dict(
    interp: Interpreter, frame: Frame, node: Node, args: tuple[Value, ...], kwargs: dict[str, Value]
) -> Value:
    if not args:
        return dict(kwargs)
    if isinstance(args[0], dict):
        return {**args[0], **kwargs}
    pairs = iterate(interp, frame, node, args[0])
    if isinstance(pairs, Unknown):
        return pairs
    made: dict[Value, Value] = {}
    for pair in pairs:
        items = iterate(interp, frame, node, pair)
        if isinstance(items, Unknown) or len(items) != 2 or not hashable(items[0]):
            return find_unknown(pair) or Unknown("dict()", frame.module.place(node))
        made[items[0]] = items[1]
    return {**made, **kwargs}


def _bool(
    interp: Interpreter, frame: Frame, node: Node, args: tuple[Value, ...], kwargs: dict[str, Value]
) -> Value:
    if not args:
        return False
    truth = interp.truth(args[0])
    return (find_unknown(args[0]) or Unknown("truth", frame.module.place(node))) if truth is None else truth


def _quantifier(stops_on: bool) -> Callable[..., Value]:
    def decide(
        interp: Interpreter, frame: Frame, node: Node, args: tuple[Value, ...], kwargs: dict[str, Value]
    ) -> Value:
        items = iterate(interp, frame, node, args[0])
        if isinstance(items, Unknown):
            return items
        missing: Unknown | None = None
        for item in items:
            truth = interp.truth(item)
            if truth is stops_on:
                return stops_on
            if truth is None:
                missing = missing or find_unknown(item) or Unknown("truth", frame.module.place(node))
        return missing if missing is not None else not stops_on

    return decide


def _enumerate(
    interp: Interpreter, frame: Frame, node: Node, args: tuple[Value, ...], kwargs: dict[str, Value]
) -> Value:
    items = iterate(interp, frame, node, args[0])
    start = kwargs.get("start", args[1] if len(args) > 1 else 0)
    if isinstance(items, Unknown) or not isinstance(start, int):
        return find_unknown((items, start)) or Unknown("enumerate", frame.module.place(node))
    counted: list[Value] = []
    certain = True
    for index, item in enumerate(items, start):
        certain = certain and not (isinstance(item, Unknown) and item.spread)
        counted.append((index, item) if certain else spread(find_unknown(item) or Unknown("index")))
    return counted


def _zip(
    interp: Interpreter, frame: Frame, node: Node, args: tuple[Value, ...], kwargs: dict[str, Value]
) -> Value:
    columns = [iterate(interp, frame, node, arg) for arg in args]
    for column in columns:
        if isinstance(column, Unknown):
            return column
        missing = next((i for i in column if isinstance(i, Unknown) and i.spread), None)
        if missing is not None:
            return missing
    return [tuple(row) for row in zip(*columns, strict=False)]  # type: ignore[arg-type]


def _reversed(
    interp: Interpreter, frame: Frame, node: Node, args: tuple[Value, ...], kwargs: dict[str, Value]
) -> Value:
    items = iterate(interp, frame, node, args[0])
    return items if isinstance(items, Unknown) else items[::-1]


def _map(
    interp: Interpreter, frame: Frame, node: Node, args: tuple[Value, ...], kwargs: dict[str, Value]
) -> Value:
    items = (
        iterate(interp, frame, node, args[1]) if len(args) == 2 else Unknown("map", frame.module.place(node))
    )
    return (
        items
        if isinstance(items, Unknown)
        else [interp.call(frame, node, args[0], (item,), {}) for item in items]
    )


def _next(
    interp: Interpreter, frame: Frame, node: Node, args: tuple[Value, ...], kwargs: dict[str, Value]
) -> Value:
    items = iterate(interp, frame, node, args[0])
    if isinstance(items, Unknown):
        return items
    if items:
        return items[0]
    if len(args) > 1:
        return args[1]
    raise interp.fail("StopIteration", "", frame, node)


def _type(
    interp: Interpreter, frame: Frame, node: Node, args: tuple[Value, ...], kwargs: dict[str, Value]
) -> Value:
    value = args[0] if len(args) == 1 else None
    if isinstance(value, Instance) and value.cls is not None:
        return value.cls
    for name, kind in _TYPES.items():
        if type(value) is kind:
            return Builtin(name)
    return find_unknown(value) or Unknown("type()", frame.module.place(node))


def _callable(
    interp: Interpreter, frame: Frame, node: Node, args: tuple[Value, ...], kwargs: dict[str, Value]
) -> Value:
    if isinstance(args[0], (FunctionValue, BoundMethod, ClassValue, Partial, Builtin)):
        return True
    if isinstance(args[0], (*_PLAIN, list, dict, tuple)):
        return False
    return find_unknown(args[0]) or Unknown("callable", frame.module.place(node))


def _issubclass(
    interp: Interpreter, frame: Frame, node: Node, args: tuple[Value, ...], kwargs: dict[str, Value]
) -> Value:
    from investigator.code import classes

    if isinstance(args[0], ClassValue) and isinstance(args[1], ClassValue):
        order = classes.mro(interp, args[0])
        if any(base is args[1] for base in order):
            return True
        if not any(isinstance(base, Unknown) for base in order):
            return False
    return find_unknown(args) or Unknown("issubclass", frame.module.place(node))


def _nothing(
    interp: Interpreter, frame: Frame, node: Node, args: tuple[Value, ...], kwargs: dict[str, Value]
) -> Value:
    return None


def _same(
    interp: Interpreter, frame: Frame, node: Node, args: tuple[Value, ...], kwargs: dict[str, Value]
) -> Value:
    return args[0] if args else Unknown("iter()", frame.module.place(node))


_SPECIAL: dict[str, Callable[..., Value]] = {
    "isinstance": _isinstance,
    "issubclass": _issubclass,
    "getattr": _getattr,
    "hasattr": _hasattr,
    "setattr": _setattr,
    "list": _container(list),
    "tuple": _container(tuple),
    "set": _set,
    "frozenset": _set,
    "dict": _dict,
    "bool": _bool,
    "any": _quantifier(True),
    "all": _quantifier(False),
    "enumerate": _enumerate,
    "zip": _zip,
    "reversed": _reversed,
    "map": _map,
    "next": _next,
    "iter": _same,
    "type": _type,
    "callable": _callable,
    "print": _nothing,
}


# -- a few functions from outside the tree ---------------------------------------------

External_ = Callable[["Interpreter", tuple[Value, ...], dict[str, Value]], Value]


def _islice(interp: Interpreter, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
    items, bounds = args[0], args[1:]
    if not isinstance(items, (list, tuple, range)):
        return find_unknown(items) or Unknown("islice of something not followed")
    missing = find_unknown(bounds)
    if missing is not None:
        return missing
    return list(items)[slice(*bounds)]


def _getenv(interp: Interpreter, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
    if not isinstance(args[0], str):
        return Unknown("an environment variable whose name is not known")
    return interp.environment.get(args[0], args[1] if len(args) > 1 else kwargs.get("default"))


def _partial(interp: Interpreter, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
    return Partial(args[0], args[1:], kwargs)


def _first(interp: Interpreter, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
    return args[0] if args else []


def _second(interp: Interpreter, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
    return args[1]


def _chain(interp: Interpreter, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
    found: list[Value] = []
    for arg in args:
        if not isinstance(arg, (list, tuple, range)):
            return find_unknown(arg) or Unknown("chain of something not followed")
        found.extend(arg)
    return found


def _field(interp: Interpreter, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
    """A dataclass field's default; a class as factory gives an object of that class's defaults."""
    if "default" in kwargs:
        return kwargs["default"]
    if args and not isinstance(args[0], Unknown):
        return args[0]
    factory = kwargs.get("default_factory")
    if isinstance(factory, Builtin) and factory.name in ("list", "dict", "set"):
        return {"list": list, "dict": dict, "set": set}[factory.name]()
    if isinstance(factory, ClassValue):
        return Instance(factory, {}, complete=False)
    return Unknown("a field with a default factory")


EXTERNALS: dict[str, External_] = {
    "itertools.islice": _islice,
    "itertools.chain": _chain,
    "os.getenv": _getenv,
    "os.environ.get": _getenv,
    "functools.partial": _partial,
    "typing.cast": _second,
    "copy.copy": _first,
    "copy.deepcopy": _first,
    "torch.nn.ModuleList": _first,
    "dataclasses.field": _field,
    "pydantic.Field": _field,
    "pydantic.fields.Field": _field,
}
"""Functions from outside the tree whose meaning is known. ``copy`` yields the same object:
what a config's copy holds is what the config holds, and no question depends on identity."""
