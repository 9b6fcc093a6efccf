"""What happens when the drafter's config names no target layers: the guess, and how loud it is."""

from dataclasses import dataclass, replace

from investigator.code.follow import deepen
from investigator.code.syntax import Place
from investigator.code.trace import Happening
from investigator.code.values import BudgetSpent, External, Raised, Unknown, find_unknown
from investigator.engines.interface import Step, Told
from investigator.engines.refusal import stopped
from investigator.engines.sglang import target_layers
from investigator.engines.sglang.mtp import MTP_LAYERS
from investigator.engines.sglang.world import ASSUMPTIONS, Session, World
from investigator.methods import MTP, naming_layers
from investigator.model import Json, Known, NotKnown

LOG = "log"
"""What a module's logger is called in the trace."""
LEVELS = ("debug", "info", "warning", "error", "critical", "exception")


@dataclass(frozen=True)
class _Asked:
    """What the target would be asked for, and what was logged on the way, by place."""

    numbers: tuple[int, ...]
    steps: tuple[Step, ...]
    logged: dict[Place, str]


def guessed(world: World) -> Told:
    """``Known({"numbers": [...], "level": LEVEL})`` for a config without ids; ``Known(None)``
    where the config names them and nothing is guessed. How many layers of an MTP drafter run is the
    server's choice (one for each step, or one for all) and is not followed."""
    if world.checkpoint.method == MTP.name:
        counted = world.checkpoint.counts_mtp_layers
        return Told(outcome=Known(None) if counted else NotKnown(MTP_LAYERS))
    if world.checkpoint.target_layer_ids is not None:
        return Told(outcome=Known(None))
    try:
        found = _asked(world)
        if isinstance(found, Unknown):
            return Told(outcome=NotKnown(f"the layers that are guessed: {found}"))
        # What is logged for a config that names these layers is not about the guess.
        named = replace(world, checkpoint=naming_layers(world.checkpoint, found.numbers))
        plain = _asked(named)
    except Raised as raised:
        outcome = stopped(world.program, raised, "following the guess")
        return Told(outcome=outcome, steps=(Step(raised.stack[-1], "stops with an error"),))
    except BudgetSpent as spent:
        return Told(outcome=NotKnown(str(spent)))
    usual = plain.logged if isinstance(plain, _Asked) else {}
    said = {place: level for place, level in found.logged.items() if place not in usual}
    level = max(said.values(), key=LEVELS.index, default="none")
    steps = (*found.steps, *(Step(place, f"says so at level {word}") for place, word in said.items()))
    answer: dict[str, Json] = {"numbers": list(found.numbers), "level": level}
    return Told(outcome=Known(answer), steps=steps, assumptions=ASSUMPTIONS)


def _asked(world: World) -> _Asked | Unknown:
    def ask(follow: frozenset[str]) -> _Asked | Unknown:
        return _ask(world.start(follow=follow))

    def missing(found: _Asked | Unknown) -> Unknown | None:
        return found if isinstance(found, Unknown) else None

    return deepen(ask, missing)


def _ask(session: Session) -> _Asked | Unknown:
    interp = session.interp
    interp.natives["logging.getLogger"] = lambda *_: External(LOG)
    target = target_layers.target_model(session)
    if not isinstance(target, tuple):
        return Unknown(target.reason)
    asked = target_layers.ask_target(session, target[0])
    if isinstance(asked, Unknown):
        return asked
    name = target_layers.setter(session.world)
    told = next(e for e in interp.trace.of(Happening.CALL) if e.name.endswith(f".{name}"))
    handed = next((v for v in told.value.values() if isinstance(v, list | tuple)), None)
    numbers = asked.numbers if handed is None or find_unknown(handed) else handed
    made = [
        event.place
        for event in interp.trace.of(Happening.RETURN)
        if isinstance(event.value, list | tuple) and list(event.value) == list(numbers)
    ]
    steps = tuple(Step(place, "the guess is made") for place in made[:2]) or (Step(asked.place, "the guess"),)
    logged = {
        event.place: event.name.rpartition(".")[2].removesuffix("_once")
        for event in interp.trace.of(Happening.SKIP)
        if event.name.startswith(f"{LOG}.") and event.name.rpartition(".")[2].removesuffix("_once") in LEVELS
    }
    return _Asked(tuple(numbers), steps, logged)
