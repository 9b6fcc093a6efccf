"""What a contract is, and the answers it compares."""

from collections.abc import Callable
from dataclasses import dataclass

from investigator.checkpoint import Checkpoint
from investigator.methods import described
from investigator.model import Answer, Json, Known, NotKnown, Outcome, Refused, Unsupported, Verdict

AskCheckpoint = Callable[[Checkpoint], tuple[Outcome, tuple[str, ...]]]
"""The question to a checkpoint: its outcome, and the dotted config keys that it rests on."""


@dataclass(frozen=True, kw_only=True)
class Sides:
    """The answers to one contract on one runner.

    ``references``: one answer per reference that could be asked, the authors' own first.
    ``engine`` None: the engine's agent brought nothing.
    """

    checkpoint: Answer | None
    references: tuple[Answer, ...]
    engine: Answer | None
    facts: Checkpoint | None = None

    @property
    def reference(self) -> Answer | None:
        """The first reference that knows."""
        return next((answer for answer in self.references if isinstance(answer.outcome, Known)), None)


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """A contract's verdict on one pair of sides. ``promised``/``happens``: one sentence each."""

    verdict: Verdict
    why: str
    promised: str = ""
    happens: str = ""


@dataclass(frozen=True, kw_only=True)
class Contract:
    """One promise.

    ``compare`` gets the reference's value and the engine's, both known, and the sides they
    come from. ``applies`` says why a checkpoint does not need the promise (None: it does).
    ``consequence``: what a breach costs. ``needs_reference`` False: the checkpoint itself is
    the other side (a promise about its own keys). ``convention``: what a method promises that
    no training code can be asked about, in common terms; None where it promises nothing.
    ``may_be_refused``: the promise lets an engine stop with an error. One that stops is refused then,
    whatever the checkpoint needs; and a checkpoint that needs nothing says so even of a runner that
    lacks the method.
    """

    id: str
    promise: str
    consequence: str
    ask_checkpoint: AskCheckpoint | None
    compare: Callable[[Json, Json, Sides], Judgement]
    applies: Callable[[Checkpoint], str | None] = lambda checkpoint: None
    needs_reference: bool = True
    convention: Callable[[Checkpoint], Json] = lambda checkpoint: None
    may_be_refused: bool = False


def judge(contract: Contract, sides: Sides) -> Judgement:
    """The verdict on one contract on one runner; ``unknown`` wherever a side is missing."""
    engine = sides.engine
    needless = contract.applies(sides.facts) if sides.facts is not None else None
    unasked = needless is not None and contract.may_be_refused
    if engine is not None and isinstance(engine.outcome, Unsupported) and not unasked:
        return Judgement(verdict=Verdict.UNSUPPORTED, why=engine.outcome.reason)
    if sides.facts is None:
        return _unknown("the checkpoint could not be read, so there is nothing to compare with")
    refused = engine is not None and isinstance(engine.outcome, Refused)
    if needless is not None and not (refused and contract.may_be_refused):
        return Judgement(verdict=Verdict.NOT_APPLICABLE, why=needless)
    if engine is None:
        return _unknown("the engine's agent brought no answer")
    if isinstance(engine.outcome, Refused):
        why = f"the engine stops: {engine.outcome.error}"
        return Judgement(verdict=Verdict.REFUSED, why=why, happens="the engine stops with an error.")
    if isinstance(engine.outcome, NotKnown):
        return _unknown(engine.outcome.reason)
    assert isinstance(engine.outcome, Known)
    method = described(sides.facts)
    if contract.needs_reference and not method.reference:
        promised = contract.convention(sides.facts)
        if promised is None:
            return _unknown(f"no training code of {method.name} can be asked, and its config says nothing")
        return contract.compare(promised, engine.outcome.value, sides)
    other = sides.reference if contract.needs_reference else sides.checkpoint
    if other is None:
        reasons = [a.outcome.reason for a in sides.references if isinstance(a.outcome, NotKnown)]
        return _unknown(reasons[0] if reasons else "no reference could be asked")
    if not isinstance(other.outcome, Known):
        return _unknown(f"{other.agent}: {getattr(other.outcome, 'reason', other.outcome)}")
    return contract.compare(other.outcome.value, engine.outcome.value, sides)


def conditional(why: str, sides: Sides) -> str:
    """What was found, with the engine's word on what it holds for: a backend, a switch."""
    note = sides.engine.note if sides.engine is not None else ""
    return f"{why} ({note})" if note else why


def _unknown(why: str) -> Judgement:
    return Judgement(verdict=Verdict.UNKNOWN, why=why)
