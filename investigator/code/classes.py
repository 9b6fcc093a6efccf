"""Classes: bases, method resolution order, dataclass fields, properties, ``super()``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tree_sitter import Node

from investigator.code.program import Definition, bindings
from investigator.code.syntax import field as child
from investigator.code.syntax import named, text
from investigator.code.values import (
    BoundMethod,
    Builtin,
    ClassValue,
    External,
    FunctionValue,
    Instance,
    Scope,
    Super,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from investigator.code.interpreter import Frame, Interpreter

_DATACLASS_DECORATORS = ("dataclass", "config", "dataclasses.dataclass", "attrs.define", "define")


def bases(interp: Interpreter, cls: ClassValue) -> list[Value]:
    """The evaluated bases: classes of the tree, externals, unknowns. Generic[...] is left out."""
    from investigator.code.expressions import evaluate
    from investigator.code.interpreter import Frame

    listed = cls.node.child_by_field_name("superclasses")
    if listed is None:
        return []
    found = []
    for node in named(listed):
        if node.type == "keyword_argument":
            continue
        if node.type == "subscript":
            node = child(node, "value")
        found.append(evaluate(interp, Frame(cls.scope), node))
    return found


def mro(interp: Interpreter, cls: ClassValue) -> tuple[Value, ...]:
    """The method resolution order (C3; depth-first where the bases do not linearise)."""
    if cls.mro is None:
        cls.mro = (cls,)  # a class among its own bases ends here instead of looping
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


def has_external_base(interp: Interpreter, cls: ClassValue) -> bool:
    """Whether some base lies outside the tree (``torch.nn.Module``) or is unknown."""
    harmless = ("typing.", "abc.", "enum.", "collections.abc.", "typing_extensions.")
    return any(
        isinstance(base, Unknown) or (isinstance(base, External) and not base.dotted.startswith(harmless))
        for base in mro(interp, cls)
    )


def is_exception(interp: Interpreter, cls: ClassValue) -> bool:
    """Whether instances of the class can be raised."""
    return any(
        isinstance(base, Builtin) and base.name.endswith(("Error", "Exception")) for base in mro(interp, cls)
    )


def is_dataclass(interp: Interpreter, cls: ClassValue) -> bool:
    """Whether ``__init__`` is made from annotated fields (by decorator, NamedTuple or msgspec)."""
    return any(
        isinstance(base, ClassValue)
        and any(d.partition("(")[0].split(".")[-1] in _DATACLASS_DECORATORS for d in base.decorators)
        for base in mro(interp, cls)
    ) or any(
        isinstance(base, External) and base.dotted.endswith(("NamedTuple", "msgspec.Struct"))
        for base in mro(interp, cls)
    )


def own_definitions(cls: ClassValue) -> dict[str, Definition]:
    """Name -> last definition in the class body; read off once."""
    known, key = cls.module.worked_out, ("definitions", cls.node.start_byte)
    if key not in known:
        found = bindings(child(cls.node, "body"), cls.module.package)
        known[key] = {each.name: each for each in found if not each.typing_only}
    definitions: dict[str, Definition] = known[key]
    return definitions


def own_attribute(interp: Interpreter, cls: ClassValue, name: str) -> Value:
    """What the class's own body binds the name to; NotImplemented when it does not."""
    if name in cls.namespace:
        return cls.namespace[name]
    found = own_definitions(cls).get(name)
    if found is None:
        return NotImplemented
    node = found.node
    scope = Scope(cls.module, parent=cls.scope if cls.scope.parent else None)
    scope.on_demand = lambda wanted: NotImplemented if wanted == name else own_attribute(interp, cls, wanted)
    value: Value
    if node.type == "function_definition":
        from investigator.code.syntax import decorators

        value = FunctionValue(name, node, cls.scope, cls, tuple(decorators(node)))
    elif node.type == "assignment" and node.child_by_field_name("right") is None:
        return NotImplemented
    elif is_member(interp, cls, found):
        value = Instance(cls, {"name": name, "value": interp.bind(scope, found)}, label=None)
    else:
        value = interp.bind(scope, found)
    cls.namespace[name] = value
    return value


def class_attribute(interp: Interpreter, cls: ClassValue, name: str) -> Value:
    """The attribute as found along the resolution order, unbound; NotImplemented when nowhere."""
    for base in mro(interp, cls):
        if isinstance(base, ClassValue):
            value = own_attribute(interp, base, name)
            if value is not NotImplemented:
                return value
    return NotImplemented


def attribute_of_class(interp: Interpreter, cls: ClassValue, name: str) -> Value:
    """``Class.name``."""
    if name == "__name__":
        return cls.name
    if name == "__mro__":
        return mro(interp, cls)
    value = class_attribute(interp, cls, name)
    if value is NotImplemented:
        if has_external_base(interp, cls) or is_enum(interp, cls):
            return Unknown(f"{cls.name} may inherit {name}")
        return NotImplemented
    if isinstance(value, FunctionValue) and "classmethod" in value.decorators:
        return BoundMethod(cls, value)
    return value


def is_enum(interp: Interpreter, cls: ClassValue) -> bool:
    """Whether the class is an enumeration."""
    return any(isinstance(base, External) and base.dotted.startswith("enum.") for base in mro(interp, cls))


def is_member(interp: Interpreter, cls: ClassValue, found: Definition) -> bool:
    """Whether a definition of a class body is a member of a plain enumeration.

    Members of one that mixes in a value type (``class Kind(str, Enum)``) compare like their
    values, and stand for them.
    """
    return (
        found.node.type == "assignment"
        and not found.name.startswith("_")
        and any(isinstance(base, External) and base.dotted == "enum.Enum" for base in mro(interp, cls))
        and not any(isinstance(base, Builtin) and base.name != "object" for base in mro(interp, cls))
    )


def are_members(*values: Value) -> bool:
    """Whether all of these are members of plain enumerations."""
    return all(
        isinstance(value, Instance)
        and value.cls is not None
        and value.attributes.keys() == {"name", "value"}
        and value.cls.namespace.get(value.attributes["name"]) is value
        for value in values
    )


def bind_attribute(interp: Interpreter, frame: Frame, node: Node, owner: Instance, value: Value) -> Value:
    """What ``instance.name`` gives for a value found on its class."""
    if not isinstance(value, FunctionValue):
        return value
    if "staticmethod" in value.decorators:
        return value
    if "classmethod" in value.decorators:
        return BoundMethod(owner.cls, value)
    if any(d.split(".")[-1] in ("property", "cached_property", "lru_cache") for d in value.decorators):
        if any(d.split(".")[-1] == "lru_cache" for d in value.decorators):
            return BoundMethod(owner, value)
        handler = interp.natives.get(value.qualified_name)
        if handler is not None:
            return handler(interp, (owner,), {})
        interp.stack.append(frame.module.place(node))
        try:
            return interp.enter(value, (owner,), {})
        finally:
            interp.stack.pop()
    return BoundMethod(owner, value)


def property_setter(interp: Interpreter, cls: ClassValue, name: str) -> FunctionValue | None:
    """The function under ``@name.setter``, when the class (not a base) has one."""
    for found in bindings(child(cls.node, "body"), cls.module.package):
        if found.name == name and found.node.type == "function_definition":
            from investigator.code.syntax import decorators

            marks = tuple(decorators(found.node))
            if f"{name}.setter" in marks:
                return FunctionValue(name, found.node, cls.scope, cls, marks)
    return None


def super_attribute(interp: Interpreter, owner: Super, name: str) -> Value:
    """``super().name``: the next class along the receiver's order that has it."""
    cls = owner.receiver.cls if isinstance(owner.receiver, Instance) else owner.receiver
    order = mro(interp, cls if isinstance(cls, ClassValue) else owner.owner)
    after = False
    for base in order:
        if after and isinstance(base, ClassValue):
            value = own_attribute(interp, base, name)
            if value is not NotImplemented:
                return BoundMethod(owner.receiver, value) if isinstance(value, FunctionValue) else value
        after = after or base is owner.owner
    return Unknown(f"super().{name} lies outside the tree")


def truth_of_instance(interp: Interpreter, value: Instance) -> bool | None:
    """``bool(instance)``: True unless its class says otherwise or is not known."""
    if value.cls is None:
        return True
    if is_enum(interp, value.cls) and not are_members(value):
        return None
    for name in ("__bool__", "__len__"):
        method = class_attribute(interp, value.cls, name)
        if isinstance(method, FunctionValue):
            return interp.truth(interp.enter(method, (value,), {}))
    return True


def fields(interp: Interpreter, cls: ClassValue) -> dict[str, ClassValue]:
    """Dataclass fields in order: name -> the class that declares it."""
    found: dict[str, ClassValue] = {}
    for base in reversed(mro(interp, cls)):
        if isinstance(base, ClassValue):
            for statement in named(child(base.node, "body")):
                for inner in named(statement) if statement.type == "expression_statement" else ():
                    if inner.type == "assignment" and inner.child_by_field_name("type") is not None:
                        annotation = text(child(inner, "type"))
                        if "ClassVar" not in annotation:
                            found[text(child(inner, "left"))] = base
    return found


def fill_fields(
    interp: Interpreter, made: Instance, args: tuple[Value, ...], kwargs: dict[str, Value]
) -> None:
    """Give a dataclass instance its arguments; defaults stay on the class."""
    assert made.cls is not None
    names = list(fields(interp, made.cls))
    made.attributes.update(zip(names, args, strict=False))
    made.attributes.update(kwargs)
    for name in names:
        if name not in made.attributes:
            default = class_attribute(interp, made.cls, name)
            if default is not NotImplemented:
                made.attributes[name] = default
    made.complete = False


def is_instance(interp: Interpreter, value: Value, cls: ClassValue) -> bool | None:
    """``isinstance(value, cls)`` for a class of the tree; None when undecided."""
    if isinstance(value, Unknown):
        return None
    if not isinstance(value, Instance):
        return False
    if value.cls is None:
        return None
    order = mro(interp, value.cls)
    if any(base is cls for base in order):
        return True
    if any("runtime_checkable" in d for d in cls.decorators):
        return _has_members(interp, value.cls, cls)
    return None if any(isinstance(base, Unknown) for base in order) else False


def _has_members(interp: Interpreter, candidate: ClassValue, protocol: ClassValue) -> bool:
    for base in mro(interp, protocol):
        if (isinstance(base, ClassValue) and base is not protocol) or base is protocol:
            for name in own_definitions(base):
                if class_attribute(interp, candidate, name) is NotImplemented:
                    return False
    return True
