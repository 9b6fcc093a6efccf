"""How the program makes objects: ``Class(...)`` for the classes of the tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from investigator.code import classes, dataclass_fields
from investigator.code.frames import Frame
from investigator.code.heap import lost
from investigator.code.syntax import Place
from investigator.code.values import (
    ABSENT,
    ClassValue,
    External,
    FunctionValue,
    Instance,
    OneOf,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from investigator.code.interpreter import Interpreter

CONTENT = "what it holds"
"""Where an object of a class below one of Python's own containers keeps what is put into it."""


def construct(
    interp: Interpreter,
    cls: ClassValue,
    args: tuple[Value, ...],
    kwargs: dict[str, Value],
    place: Place | None,
) -> Value:
    """Make an instance and run its ``__init__`` (or fill its dataclass fields)."""
    complete = not classes.has_external_base(interp, cls)
    maker = classes.class_attribute(interp, cls, "__new__")
    if maker is not NotImplemented:
        if not classes.makes_plain_objects(maker):
            return Unknown(f"{cls.name} makes its own objects", place)
        complete = False  # what else it sets on the object is not followed
    frame = Frame(interp.globals_of(cls.module))
    if complete and (missing := _abstract(interp, cls)) is not None:
        raise interp.fail("TypeError", f"{cls.name} has an abstract method {missing}", frame, cls.node)
    made = Instance(cls, interp.journal.born({}), complete=complete, place=place)
    initialiser = initialiser_along(interp, classes.mro(interp, cls))
    if isinstance(initialiser, FunctionValue):
        interp.enter(initialiser, (made, *args), kwargs)
    elif isinstance(initialiser, ClassValue):
        dataclass_fields.fill_fields(interp, made, args, kwargs, initialiser)
    elif complete and (args or kwargs) and initialiser is NotImplemented:
        raise interp.fail("TypeError", f"{cls.name}() takes no arguments", frame, cls.node)
    else:
        put_into(interp, made, *args, *kwargs.values())
    return made


def initialiser_along(interp: Interpreter, order: Sequence[Value]) -> Value:
    """The ``__init__`` that the first class along an order brings: a function, or the dataclass
    whose fields make it; NotImplemented where none does."""
    for number, base in enumerate(order):
        if isinstance(base, ClassValue):
            if classes.own_attribute(interp, base, "__init__") is not NotImplemented:
                return classes.first_along(interp, order[number:], "__init__")
            if dataclass_fields.makes_init(base) or _is_struct(order[number:]):
                return base
    return NotImplemented


def _is_struct(order: Sequence[Value]) -> bool:
    """Whether the class is made of its annotated fields because of a base from outside the tree."""
    return any(isinstance(base, External) and dataclass_fields.is_struct(base) for base in order)


def _abstract(interp: Interpreter, cls: ClassValue) -> str | None:
    """A method that some base left abstract and no class below it defines."""
    order = classes.mro(interp, cls)
    if not any(b == External("abc.ABC") or (isinstance(b, ClassValue) and _of_abc(b)) for b in order):
        return None
    for base in order:
        for name, found in classes.own_definitions(base).items() if isinstance(base, ClassValue) else ():
            if any("abstract" in mark for mark in found.decorators):
                own = classes.class_attribute(interp, cls, name)
                if isinstance(own, FunctionValue) and classes.is_marked(own, "abstractmethod"):
                    return name
    return None


def _of_abc(cls: ClassValue) -> bool:
    return b"ABCMeta" in (classes.listed_bases(cls) or b"")


def put_into(interp: Interpreter, owner: Instance, *values: Value) -> None:
    """Something was put into an object of a class below one of Python's own containers."""
    if values and owner.cls is not None and classes.builtin_base(interp, owner.cls) is not None:
        because = Unknown(f"what {owner!r} holds", owner.place)
        before = owner.attributes.get(CONTENT, ABSENT)
        interp.journal.touch(owner.attributes, CONTENT)
        held = lost(because, before, *values)
        owner.attributes[CONTENT] = OneOf((held, ABSENT), owner.place, because)
