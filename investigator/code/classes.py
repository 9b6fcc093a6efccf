"""Classes: bases, method resolution order, what a class's body and its bases define."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from investigator.code import dataclass_fields, effects, enums
from investigator.code.exceptions import is_exception_name
from investigator.code.frames import Frame
from investigator.code.heap import join_values, may_be_absent, without_absent
from investigator.code.program import Definition, bindings
from investigator.code.syntax import descendants, named, text
from investigator.code.syntax import field as child
from investigator.code.values import (
    ABSENT,
    BoundMethod,
    Builtin,
    ClassValue,
    External,
    FunctionValue,
    Instance,
    OneOf,
    Scope,
    Symbol,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from investigator.code.interpreter import Interpreter

_HARMLESS = ("typing.", "abc.", "enum.", "collections.abc.", "typing_extensions.")
_WITHOUT_METHODS = ("abc.ABC", "typing.Generic", "typing.Protocol", "typing_extensions.Protocol")
HOOKS = ("__getattribute__", "__setattr__", "__delattr__")
_MADE_BY_OBJECT = frozenset(["__init__", "__setattr__", "__init_subclass__", "__post_init__", "__enter__"])


def bases(interp: Interpreter, cls: ClassValue) -> list[Value]:
    """The evaluated bases: classes of the tree, externals, unknowns. ``Generic[...]`` is its
    unsubscripted self."""
    listed = cls.node.child_by_field_name("superclasses")
    if listed is None:
        return []
    found = []
    for node in named(listed):
        if node.type == "keyword_argument":
            continue
        if node.type == "subscript":
            node = child(node, "value")
        hidden = _hidden_by(cls) if text(node) == cls.name else []
        if hidden:
            found.append(interp.define(interp.globals_of(cls.module), hidden))
        else:
            found.append(interp.evaluate(Frame(cls.scope), node))
    return [base for base in found if base != Builtin("object")]


def _hidden_by(cls: ClassValue) -> list[Definition]:
    """What the module calls by the class's own name above it: ``class Layer(Layer)``."""
    if cls.scope.parent is not None:
        return []
    return [d for d in cls.module.symbols.get(cls.name, ()) if d.node.start_byte < cls.node.start_byte]


def mro(interp: Interpreter, cls: ClassValue) -> tuple[Value, ...]:
    """The method resolution order (C3; depth-first where the bases do not linearise)."""
    if cls.mro is None:
        cls.mro = (cls,)  # a class among its own bases ends here instead of looping
        with interp.timeless():
            direct = bases(interp, cls)
        orders = [list(mro(interp, base)) if isinstance(base, ClassValue) else [base] for base in direct]
        cls.mro = (cls, *_merge([*orders, list(direct)]))
    return cls.mro


def _merge(orders: list[list[Value]]) -> list[Value]:
    merged: list[Value] = []
    while orders := [order for order in orders if order]:
        for order in orders:
            head = order[0]
            if not any(_among(head, other[1:]) for other in orders):
                break
        else:
            head = orders[0][0]
        merged.append(head)
        orders = [[v for v in order if not _equal(v, head)] for order in orders]
    return merged


def _equal(a: Value, b: Value) -> bool:
    return a is b or (isinstance(a, (External, Builtin)) and a == b)


def _among(value: Value, others: list[Value]) -> bool:
    return any(_equal(value, other) for other in others)


def makes_plain_objects(maker: Value) -> bool:
    """Whether a ``__new__`` returns the object that ``super().__new__`` gives it."""
    if not isinstance(maker, FunctionValue):
        return False
    body = child(maker.node, "body")
    made: set[str] = set()
    others: set[str] = set()
    for node in descendants(body, "assignment"):
        makes = text(node.child_by_field_name("right") or node).startswith("super().__new__(")
        (made if makes and child(node, "left").type == "identifier" else others).add(
            text(child(node, "left"))
        )
    made -= others
    returned = [named(node) for node in descendants(body, "return_statement")]
    return bool(returned) and all(len(parts) == 1 and text(parts[0]) in made for parts in returned)


def has_metaclass(interp: Interpreter, cls: ClassValue) -> bool:
    """Whether the class itself, as an object, may behave in its own way."""
    return not surely_lacks(interp, cls) or any(
        isinstance(base, ClassValue) and b"metaclass" in (listed_bases(base) or b"")
        for base in mro(interp, cls)
    )


def own_metaclass(interp: Interpreter, cls: ClassValue) -> bool:
    """Whether a class of the tree says what happens when the class is called or made."""
    for base in mro(interp, cls):
        listed = base.node.child_by_field_name("superclasses") if isinstance(base, ClassValue) else None
        if listed is None or b"metaclass" not in (listed.text or b""):
            continue
        for node in named(listed):
            if node.type == "keyword_argument" and text(child(node, "name")) == "metaclass":
                found = interp.evaluate(Frame(base.scope), child(node, "value"))
                if isinstance(found, ClassValue):
                    return True
    return False


def is_made_by_code(interp: Interpreter, cls: ClassValue) -> bool:
    """Whether a metaclass or an ``__init_subclass__`` may have given the class attributes."""
    if class_attribute(interp, cls, "__init_subclass__") is not NotImplemented:
        return True
    return own_metaclass(interp, cls)


def listed_bases(cls: ClassValue) -> bytes | None:
    """What stands between the parentheses after the class's name."""
    listed = cls.node.child_by_field_name("superclasses")
    return listed.text if listed is not None else None


def has_external_base(interp: Interpreter, cls: ClassValue) -> bool:
    """Whether some base lies outside the tree (``torch.nn.Module``, ``dict``) or is unknown."""
    return any(
        _is_outside(base) and not (isinstance(base, Builtin) and is_exception_name(base.name))
        for base in mro(interp, cls)
    )


def builtin_base(interp: Interpreter, cls: ClassValue) -> Builtin | None:
    """The one of Python's own types (``dict``, ``str``) that the class's objects are as well."""
    return next(
        (b for b in mro(interp, cls) if isinstance(b, Builtin) and not is_exception_name(b.name)), None
    )


def hook(interp: Interpreter, cls: ClassValue, name: str) -> FunctionValue | None:
    """How the class itself reads, sets or deletes attributes: one of ``HOOKS``, where it says so."""
    if cls.hooks is None:
        own = [definitions(base) for base in mro(interp, cls) if isinstance(base, ClassValue)]
        cls.hooks = frozenset(each for each in HOOKS if any(each in found for found in own))
    if name not in cls.hooks:
        return None
    found = class_attribute(interp, cls, name)
    return found if isinstance(found, FunctionValue) else None


def _is_outside(base: Value) -> bool:
    harmless = isinstance(base, External) and base.dotted.startswith(_HARMLESS)
    return not isinstance(base, ClassValue) and not harmless


def is_exception(interp: Interpreter, cls: ClassValue) -> bool:
    """Whether instances of the class can be raised."""
    return any(isinstance(base, Builtin) and is_exception_name(base.name) for base in mro(interp, cls))


def definitions(cls: ClassValue) -> dict[str, list[Definition]]:
    """Name -> what the class body binds it to, in source order; read off once."""
    known, key = cls.module.worked_out, ("definitions", cls.node.start_byte)
    if key not in known:
        made: dict[str, list[Definition]] = {}
        for each in bindings(child(cls.node, "body"), cls.module.package):
            if not each.typing_only:
                made.setdefault(each.name, []).append(each)
        known[key] = made
    found: dict[str, list[Definition]] = known[key]
    return found


def own_definitions(cls: ClassValue) -> dict[str, Definition]:
    """Name -> last definition in the class body; of a property, its getter. Read off once."""
    known, key = cls.module.worked_out, ("own definitions", cls.node.start_byte)
    if key not in known:
        known[key] = {name: _getter_or_last(found) for name, found in definitions(cls).items()}
    found_so: dict[str, Definition] = known[key]
    return found_so


def _getter_or_last(found: list[Definition]) -> Definition:
    return next((each for each in reversed(found) if not _accessor(each)), found[-1])


def _accessor(found: Definition) -> bool:
    """Whether this is the setter or deleter of a property."""
    marks = found.decorators if found.node.type == "function_definition" else ()
    return any(mark in (f"{found.name}.setter", f"{found.name}.deleter") for mark in marks)


def class_scope(interp: Interpreter, cls: ClassValue, wanting: str) -> Scope:
    """The scope of a class body, as an assignment to ``wanting`` in it sees it."""
    scope = Scope(cls.module, parent=None if cls.scope is interp.globals_of(cls.module) else cls.scope)
    scope.on_demand = lambda name: NotImplemented if name == wanting else own_attribute(interp, cls, name)
    return scope


def own_attribute(interp: Interpreter, cls: ClassValue, name: str) -> Value:
    """What the class's own body binds the name to, or the program has set it to since;
    NotImplemented when neither."""
    value = _own_or_absent(interp, cls, name)
    return NotImplemented if value is ABSENT else without_absent(value)


def _own_or_absent(interp: Interpreter, cls: ClassValue, name: str) -> Value:
    """The same with ABSENT, or ABSENT among the options, where the class has or may have none."""
    assigned = cls.assigned.get(name, ABSENT)
    if not may_be_absent(assigned):
        return assigned
    value = _body_attribute(interp, cls, name)
    value = ABSENT if value is NotImplemented else value
    return value if assigned is ABSENT else join_values(without_absent(assigned), value, assigned.reason)


def _body_attribute(interp: Interpreter, cls: ClassValue, name: str) -> Value:
    if name in cls.namespace:
        return cls.namespace[name]
    if name not in definitions(cls):
        return NotImplemented
    found = [each for each in definitions(cls)[name] if not _accessor(each)]
    if not found:
        return NotImplemented
    key = (cls.module.path, name, found[-1].node.start_byte)
    if key in interp.modules.resolving:
        return Unknown(f"{cls.name}.{name} is defined in terms of itself", cls.module.place(cls.node))
    with interp.timeless(), interp.modules.working_out(key):
        value = interp.define(class_scope(interp, cls, name), found, owner=cls)
        if (
            value is not NotImplemented
            and name in enums.member_definitions(cls)
            and enums.is_enum(interp, cls)
        ):
            if value == External("enum.auto"):
                value = enums.next_value(interp, cls, name)
            value = enums.member(interp, cls, name, value)
        if isinstance(value, (list, dict, set)) and "__init_subclass__" in definitions(cls):
            because = Unknown(f"classes below {cls.name} may change {name}", cls.module.place(cls.node))
            effects.loosen(interp, value, because)
    if value is not NotImplemented:
        cls.namespace[name] = value
        _tell_name(interp, cls, name, value)
    return value


def _tell_name(interp: Interpreter, cls: ClassValue, name: str, value: Value) -> None:
    """``__set_name__``: an object that a class's body binds is told the class and its name there."""
    if isinstance(value, Instance) and value.cls is not None:
        told = class_attribute(interp, value.cls, "__set_name__")
        if isinstance(told, FunctionValue):
            with interp.timeless():
                interp.enter(told, (value, cls, name), {})


def class_attribute(interp: Interpreter, cls: ClassValue, name: str) -> Value:
    """The attribute as found along the resolution order, unbound; NotImplemented when nowhere."""
    return first_along(interp, mro(interp, cls), name)


def first_along(interp: Interpreter, order: Sequence[Value], name: str) -> Value:
    """What the first class that has the attribute gives; a join where the first may not have it."""
    found: Value = ABSENT
    for base in order:
        if not isinstance(base, ClassValue):
            continue
        value = _own_or_absent(interp, base, name)
        if isinstance(found, OneOf):
            value = join_values(without_absent(found), value, found.reason)
        found = value
        if not may_be_absent(found):
            return found
    return NotImplemented if found is ABSENT else without_absent(found)


def surely_lacks(interp: Interpreter, cls: ClassValue, *names: str) -> bool:
    """Whether objects of the class have none of these special methods: no base is one of Python's
    own containers, or a class from outside the tree that may have them."""
    for base in mro(interp, cls):
        if isinstance(base, External) and base.dotted in _WITHOUT_METHODS:
            continue
        if not isinstance(base, ClassValue):
            return False
    return all(class_attribute(interp, cls, name) is NotImplemented for name in names)


def attribute_of_class(interp: Interpreter, cls: ClassValue, name: str) -> Value:
    """``Class.name``; NotImplemented where it surely does not exist."""
    if name in ("__name__", "__qualname__"):
        return cls.name
    if name == "__module__":
        return cls.module.dotted
    if name == "__mro__":
        return mro(interp, cls)
    value = class_attribute(interp, cls, name)
    if value is NotImplemented:
        made = has_external_base(interp, cls) or enums.is_enum(interp, cls) or is_made_by_code(interp, cls)
        of_tuples = name in dataclass_fields.OF_NAMED_TUPLES and dataclass_fields.is_named_tuple(interp, cls)
        if made or of_tuples or name.startswith("__"):
            return Unknown(f"{cls.name} may inherit {name}")
        return NotImplemented
    if isinstance(value, FunctionValue) and is_marked(value, "classmethod"):
        return BoundMethod(cls, value)
    return value


def is_marked(function: FunctionValue, *marks: str) -> bool:
    """Whether a function carries one of these decorators, by their last name."""
    return any(d.partition("(")[0].rpartition(".")[2] in marks for d in function.decorators)


def truth_of_instance(interp: Interpreter, value: Instance) -> bool | None:
    """``bool(instance)``: True unless its class says otherwise or is not known."""
    if value.cls is None:
        return True
    for name in ("__bool__", "__len__"):
        method = class_attribute(interp, value.cls, name)
        if isinstance(method, FunctionValue):
            return interp.truth(interp.enter(method, (value,), {}))
        if method is not NotImplemented:
            return None
    return True if builtin_base(interp, value.cls) is None else None


def is_instance(interp: Interpreter, value: Value, cls: ClassValue) -> bool | None:
    """``isinstance(value, cls)`` for a class of the tree; None when undecided."""
    if isinstance(value, Unknown):
        return None
    if isinstance(value, Symbol):
        return value.instance_of(cls)
    found = getattr(value, "cls", None)
    if not isinstance(value, Instance) and not isinstance(found, ClassValue):
        return False
    if isinstance(found, ClassValue):
        return is_subclass(interp, found, cls)
    never = value.never if isinstance(value, Instance) else None
    return False if never is not None and never(cls) else None


def is_subclass(interp: Interpreter, candidate: ClassValue, cls: ClassValue) -> bool | None:
    """Whether a class is another or below it; None when undecided."""
    order = mro(interp, candidate)
    if any(base is cls for base in order):
        return True
    if any("runtime_checkable" in d for d in cls.decorators):
        return _has_members(interp, candidate, cls)
    return None if any(not isinstance(b, (ClassValue, External, Builtin)) for b in order) else False


def _has_members(interp: Interpreter, candidate: ClassValue, protocol: ClassValue) -> bool:
    return not any(
        class_attribute(interp, candidate, name) is NotImplemented
        for base in mro(interp, protocol)
        if isinstance(base, ClassValue)
        for name in own_definitions(base)
    )
