"""Rotary embeddings that are made while a model is built: layout and base of each."""

from dataclasses import dataclass, field

from investigator.code import lazy
from investigator.code.interpreter import Interpreter
from investigator.code.syntax import Place
from investigator.code.values import FunctionValue, Instance, Unknown, Value
from investigator.engines.vllm.world import Session

ROPE = "get_rope"
ROPE_HINT = "vllm/model_executor/layers/rotary_embedding/__init__.py"
NEOX = "is_neox_style"
PARAMETERS = "rope_parameters"


@dataclass(frozen=True)
class Rope:
    """One rotary embedding: its layout, its base, and where it was made."""

    neox: Value
    theta: Value
    place: Place


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
        self.made.append(Rope(neox, theta, interp.stack[-1]))
        return Instance(None, {NEOX: neox}, complete=False)

    def _given(
        self, interp: Interpreter, args: tuple[Value, ...], kwargs: dict[str, Value]
    ) -> dict[str, Value]:
        """What the call gives each parameter, the function's own defaults filled in."""
        for module in interp.program.mentioning([f"def {ROPE}("], [ROPE_HINT]):
            function = interp.global_name(module, ROPE)
            if not isinstance(function, FunctionValue):
                continue
            local = interp.local_bindings(function)
            given = {**dict(zip(local.parameters, args, strict=False)), **kwargs}
            for name, default in local.defaults.items():
                if name not in given:
                    given[name] = lazy.value_at(interp, function, default, None)
            return given
        return kwargs
