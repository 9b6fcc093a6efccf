"""Rotary embeddings that are made while a model is built: layout and base of each.

The function that makes them may keep each, and hand it to every layer that asks with the same
settings: then what is written into one layer's embedding is another layer's, too.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from investigator.code import lazy
from investigator.code.interpreter import Interpreter
from investigator.code.syntax import Place, descendants, named, text
from investigator.code.syntax import field as child
from investigator.code.values import FunctionValue, Instance, Unknown, Value, find_unknown
from investigator.engines.vllm.world import Session

ROPE = "get_rope"
ROPE_HINT = "vllm/model_executor/layers/rotary_embedding/__init__.py"
NEOX = "is_neox_style"
PARAMETERS = "rope_parameters"


@dataclass(frozen=True)
class Rope:
    """One rotary embedding: its layout, its base, where it was made, and with what settings."""

    neox: Value
    theta: Value
    place: Place
    settings: Mapping[str, Value] = field(default_factory=dict)

    def same_as(self, other: "Rope") -> Value:
        """Whether the two are asked for with the same settings; an Unknown where that is not known."""
        missing = None
        for name in {**self.settings, **other.settings}:
            mine, theirs = self.settings.get(name), other.settings.get(name)
            if (unknown := find_unknown((mine, theirs))) is not None:
                missing = unknown
            elif mine != theirs:
                return False
            elif isinstance(mine, dict) and list(mine) != list(theirs or ()):
                missing = Unknown(f"{name} stands in another order, which may count")
        return True if missing is None else missing


@dataclass
class Ropes:
    """Stands in for the function that makes rotary embeddings: keeps what each is made with."""

    session: Session
    made: list[Rope] = field(default_factory=list)

    def __call__(self, interp: Interpreter, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
        """One rotary embedding."""
        given = self._given(interp, args, kwargs)
        neox, parameters = given.get(NEOX, Unknown(NEOX)), given.get(PARAMETERS)
        theta = parameters.get("rope_theta") if isinstance(parameters, dict) else parameters
        self.made.append(Rope(neox, theta, interp.stack[-1], given))
        return Instance(None, {NEOX: neox}, complete=False)

    def _given(
        self, interp: Interpreter, args: tuple[Value, ...], kwargs: dict[str, Value]
    ) -> dict[str, Value]:
        """What the call gives each parameter, the function's own defaults filled in."""
        function = _maker(interp)
        if function is None:
            return kwargs
        local = interp.local_bindings(function)
        given = {**dict(zip(local.parameters, args, strict=False)), **kwargs}
        for name, default in local.defaults.items():
            if name not in given:
                given[name] = lazy.value_at(interp, function, default, None)
        return given


def kept(interp: Interpreter) -> Place | None:
    """Where the function that makes rotary embeddings returns one out of a module's own dictionary;
    None where it makes a new one each time."""
    function = _maker(interp)
    if function is None:
        return None
    for node in descendants(child(function.node, "body"), "return_statement"):
        value = next(iter(named(node)), None)
        if value is None or value.type != "subscript":
            continue
        if text(child(value, "value")) in function.module.symbols:
            return function.module.place(node)
    return None


def _maker(interp: Interpreter) -> FunctionValue | None:
    for module in interp.program.mentioning([f"def {ROPE}("], [ROPE_HINT]):
        function = interp.global_name(module, ROPE)
        if isinstance(function, FunctionValue):
            return function
    return None
