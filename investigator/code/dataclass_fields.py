"""Dataclasses and named tuples: an ``__init__`` made of annotated fields."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tree_sitter import Node

from investigator.code import classes
from investigator.code.frames import Frame
from investigator.code.syntax import field as child
from investigator.code.syntax import named, text
from investigator.code.values import (
    Builtin,
    ClassValue,
    External,
    FunctionValue,
    Instance,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from investigator.code.interpreter import Interpreter

_DECORATORS = ("dataclass", "config", "define", "frozen")
_POSITIONAL = re.compile(r"\((?!\)|\w+=)")
OF_NAMED_TUPLES = frozenset(["_replace", "_asdict", "_fields", "_make", "_field_defaults", "count", "index"])
"""What named tuples have besides their fields."""
_FIELD_MAKERS = ("field", "Field", "attrib", "ib")


@dataclass(frozen=True)
class DataField:
    """One field: the class that declares it, and the statement that does.

    ``keyword_only``: it takes no positional argument. ``initialised``: ``__init__`` takes it.
    """

    name: str
    owner: ClassValue
    statement: Node
    keyword_only: bool
    initialised: bool


def makes_init(cls: ClassValue) -> bool:
    """Whether the class's own decorator makes an ``__init__`` of its fields."""
    return _decorator(cls) is not None and option(cls, "init", default=True)


def only_fills(interp: Interpreter, cls: ClassValue) -> bool:
    """Whether making an object runs nothing but the defaults of fields, as for a plain dataclass."""
    if classes.has_external_base(interp, cls) or not any(map(makes_init, _of_tree(interp, cls))):
        return False
    own = ("__init__", "__new__", "__post_init__", "__setattr__")
    return all(classes.class_attribute(interp, cls, name) is NotImplemented for name in own)


def _of_tree(interp: Interpreter, cls: ClassValue) -> list[ClassValue]:
    return [base for base in classes.mro(interp, cls) if isinstance(base, ClassValue)]


def makes_equality(cls: ClassValue) -> bool:
    """Whether the class's own decorator, ``dataclass`` itself, makes its objects equal by their fields."""
    mark = _decorator(cls)
    return mark is not None and _last_name(mark) == "dataclass" and option(cls, "eq", default=True)


def is_struct(base: External) -> bool:
    """Whether classes below this one from outside the tree are made of their annotated fields."""
    return base.dotted.endswith(("NamedTuple", "msgspec.Struct"))


def is_dataclass(interp: Interpreter, cls: ClassValue) -> bool:
    """Whether ``__init__`` is made from annotated fields (by decorator, NamedTuple or msgspec)."""
    return any(
        isinstance(base, ClassValue) and _decorator(base) is not None for base in classes.mro(interp, cls)
    ) or any(isinstance(base, External) and is_struct(base) for base in classes.mro(interp, cls))


def is_named_tuple(interp: Interpreter, cls: ClassValue) -> bool:
    """Whether instances are tuples as well."""
    return any(
        isinstance(base, External) and base.dotted.endswith("NamedTuple") for base in classes.mro(interp, cls)
    )


def as_tuple(interp: Interpreter, value: Value) -> Value:
    """A named tuple as the tuple that it is; any other value itself."""
    if not isinstance(value, Instance) or value.cls is None or not is_named_tuple(interp, value.cls):
        return value
    missing = Unknown("a field that may not be set", value.place)
    return tuple(value.attributes.get(name, missing) for name in fields(interp, value.cls))


def compared(interp: Interpreter, cls: ClassValue) -> list[str] | None:
    """The fields that ``==`` compares; None when a field says something about that itself."""
    known = fields(interp, cls)
    if any("compare=" in _maker(entry.statement) for entry in known.values()):
        return None
    return [name for name, entry in known.items() if "InitVar" not in text(child(entry.statement, "type"))]


def _decorator(cls: ClassValue) -> str | None:
    for mark in cls.decorators:
        if _last_name(mark) in _DECORATORS:
            return mark
    return None


def _last_name(mark: str) -> str:
    return mark.partition("(")[0].rpartition(".")[2]


def option(cls: ClassValue, name: str, *, default: bool = False) -> bool:
    """Whether the class's decorator switches something on (``frozen=True``)."""
    mark = "".join((_decorator(cls) or "").split())
    if f"{name}=" not in mark:
        return default
    return f"{name}=True" in mark


def is_frozen(interp: Interpreter, cls: ClassValue) -> bool:
    """Whether the instances' fields cannot be set: a frozen dataclass."""
    return any(isinstance(base, ClassValue) and option(base, "frozen") for base in classes.mro(interp, cls))


def fields(interp: Interpreter, cls: ClassValue) -> dict[str, DataField]:
    """The fields in order, those of base classes first."""
    found: dict[str, DataField] = {}
    order = classes.mro(interp, cls)
    struct = any(isinstance(base, External) and is_struct(base) for base in order)
    for base in reversed(order):
        if isinstance(base, ClassValue) and (struct or _decorator(base) is not None):
            keyword_only = option(base, "kw_only")
            for statement in named(child(base.node, "body")):
                for inner in named(statement) if statement.type == "expression_statement" else ():
                    if inner.type != "assignment" or inner.child_by_field_name("type") is None:
                        continue
                    annotation = text(child(inner, "type"))
                    if annotation in ("KW_ONLY", "dataclasses.KW_ONLY"):
                        keyword_only = True
                    elif "ClassVar" not in annotation:
                        name = text(child(inner, "left"))
                        maker = _maker(inner)
                        found[name] = DataField(
                            name,
                            base,
                            inner,
                            keyword_only or "kw_only=True" in maker,
                            "init=False" not in maker,
                        )
    return found


def _maker(statement: Node) -> str:
    """The text of a ``field(...)`` call without blanks; "" for a plain default or none."""
    right = statement.child_by_field_name("right")
    if right is None or right.type != "call":
        return ""
    callee = text(child(right, "function")).rpartition(".")[2]
    return "".join(text(child(right, "arguments")).split()) if callee in _FIELD_MAKERS else ""


def fill_fields(
    interp: Interpreter, made: Instance, args: tuple[Value, ...], kwargs: dict[str, Value], cls: ClassValue
) -> None:
    """Give an instance of a dataclass, or of a class below it, the fields' arguments and defaults,
    then run ``__post_init__``.

    Raises Raised(TypeError) as the made ``__init__`` would.
    """
    assert made.cls is not None
    known = fields(interp, cls)
    frame = Frame(interp.globals_of(cls.module))
    taken = [f for f in known.values() if f.initialised]
    loose = next((a for a in (*args, *kwargs) if isinstance(a, Unknown) and a.spread), None)
    positional = [f.name for f in taken if not f.keyword_only]
    interp.journal.touch(made.attributes)
    if loose is None:
        if len(args) > len(positional):
            raise interp.fail("TypeError", f"{cls.name}() takes {len(positional)} arguments", frame, cls.node)
        for name in kwargs:
            if name not in known or name in positional[: len(args)]:
                raise interp.fail("TypeError", f"{cls.name}() got argument {name!r}", frame, cls.node)
    else:
        args = ()
    given = {**dict(zip(positional, args, strict=False)), **{k: v for k, v in kwargs.items() if k in known}}
    passed: list[Value] = []
    for entry in known.values():
        value = given[entry.name] if entry.name in given else _default(interp, frame, cls, entry, loose)
        if value is NotImplemented:
            continue
        if "InitVar" in text(child(entry.statement, "type")):
            passed.append(value)
        else:
            made.attributes[entry.name] = value
    after = classes.class_attribute(interp, made.cls, "__post_init__")
    if isinstance(after, FunctionValue):
        interp.enter(after, (made, *passed), {})


def _default(
    interp: Interpreter, frame: Frame, cls: ClassValue, entry: DataField, loose: Unknown | None
) -> Value:
    """A field's default, made anew by its factory; NotImplemented where it stays unset."""
    right = entry.statement.child_by_field_name("right")
    if loose is not None and entry.initialised:
        return Unknown(f"argument {entry.name} of {cls.name}", loose.place, loose.not_followed)
    maker = _maker(entry.statement)
    if right is None or (maker and "default" not in maker and _POSITIONAL.match(maker) is None):
        if entry.initialised:
            raise interp.fail("TypeError", f"{cls.name}() misses argument {entry.name!r}", frame, cls.node)
        return NotImplemented
    if not maker:
        value = classes.class_attribute(interp, cls, entry.name)
        return value if value is not NotImplemented else Unknown(f"default of {entry.name}")
    return interp.evaluate(Frame(classes.class_scope(interp, entry.owner, entry.name)), right)


def made_field(
    interp: Interpreter, frame: Frame, node: Node, args: tuple[Value, ...], kwargs: dict[str, Value]
) -> Value:
    """``field(...)``: the field's default; a class as factory gives an object of that class."""
    if "default" in kwargs:
        return kwargs["default"]
    if args and not isinstance(args[0], Unknown):
        return args[0]
    factory = kwargs.get("default_factory")
    if isinstance(factory, Builtin) and factory.name in ("list", "dict", "set"):
        made: list[Value] | dict[Value, Value] | set[Value]
        made = {"list": list, "dict": dict, "set": set}[factory.name]()
        return interp.journal.born(made)
    if isinstance(factory, ClassValue):
        if factory.module.path == frame.module.path:
            return interp.call(frame, node, factory, (), {})
        return Instance(factory, {}, complete=False)
    if isinstance(factory, FunctionValue):
        return interp.call(frame, node, factory, (), {})
    return Unknown("a field with a default factory")
