"""The epsilons of the norms that a draft model makes, seen while it is built."""

from collections.abc import Callable, Iterator

from investigator.code import lazy
from investigator.code.interpreter import Interpreter
from investigator.code.syntax import Place
from investigator.code.trace import Event, Happening
from investigator.code.values import ClassValue, Unknown, Value
from investigator.engines.interface import Step, Told
from investigator.model import Known, NotKnown

NORM = "Norm"
NAMES = ("eps", "epsilon")


def epsilons(interp: Interpreter, unbuilt: str | None) -> Told:
    """``Known([e0, ...])``: the epsilons of every norm made so far, each once, ascending.

    ``unbuilt``: why the draft model was not built to its end, None where it was.
    """
    if unbuilt is not None:
        return Told(outcome=NotKnown(unbuilt))
    found: dict[float, Place] = {}
    for name, place, epsilon in _made(interp):
        if isinstance(epsilon, bool) or not isinstance(epsilon, int | float):
            step = Step(place, "a norm is made")
            return Told(outcome=NotKnown(f"the epsilon of {name}: {epsilon}"), steps=(step,))
        found.setdefault(epsilon, place)
    if not found:
        return Told(outcome=NotKnown("no norm of the draft model was seen made"))
    steps = tuple(Step(place, f"a norm is made with epsilon {e}") for e, place in sorted(found.items()))
    return Told(outcome=Known([*sorted(found)]), steps=steps)


def _made(interp: Interpreter) -> Iterator[tuple[str, Place, Value]]:
    """Class, place and epsilon of each norm: left alone where it was made, or followed into."""
    for event in interp.trace.events:
        if event.kind is Happening.SKIP and event.name.endswith(NORM):
            yield event.name, event.place, _given(interp, event)
        elif event.kind is Happening.CALL and event.name.endswith(f"{NORM}.__init__"):
            yield event.name.partition(".")[0], event.stack[-2], _among(event.value.get)


def _given(interp: Interpreter, event: Event) -> Value:
    """The epsilon that a norm is given, else the default of its class."""
    args, kwargs = event.value
    module = interp.program.module_at(event.place.path)
    cls = interp.global_name(module, event.name) if module is not None else None
    if not isinstance(cls, ClassValue):
        return _among(kwargs.get)
    supply = lazy.bound(interp, cls, args, kwargs)
    return _among(lambda name, missing: missing if (v := supply(name, "")) is NotImplemented else v)


def _among(get: Callable[[str, Unknown], Value]) -> Value:
    missing = Unknown("it is given none, and no default of its class was found")
    return next((v for name in NAMES if (v := get(name, missing)) is not missing), missing)
