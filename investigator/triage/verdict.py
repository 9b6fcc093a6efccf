"""What triage concludes: the plain answer, and everything it rests on."""

from dataclasses import dataclass
from enum import StrEnum

from investigator.triage.confounders import Confounder
from investigator.triage.figures import Figure, Range
from investigator.triage.shape import Shape, ShapeReading
from investigator.triage.suspects import Suspect
from investigator.triage.symptom import Symptom


class Answer(StrEnum):
    """Is it the drafter or the engine?"""

    ENGINE = "the engine, or how it was configured"
    NOT_DRAFTER = "not the drafter; the engine, if requests share a prefix"
    EITHER = "cannot be told from these figures alone"
    NO_FAULT = "no engine fault shown"
    UNKNOWN = "not enough to judge"


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The observed AL beside one published figure; ``kept`` is (AL - 1) ÷ (figure - 1).

    ``length`` is the figure brought to this deployment's number of draft tokens.
    """

    figure: Figure
    length: Range
    kept: Range


@dataclass(frozen=True, kw_only=True)
class Distance:
    """What a known cause would give for this pair, and how far the observed AL is from that.

    ``gap`` in tokens: 0 inside the range, negative when the observed AL is below it.
    """

    side: str
    name: str
    length: Range
    gap: float
    basis: str


@dataclass(frozen=True, kw_only=True)
class Triage:
    """The answer first; then why, for either side.

    ``interval``: 95 % interval of the observed AL. ``expected``: the published range that was
    compared with (None without a figure for the pair).
    """

    answer: Answer
    headline: str
    for_engine: tuple[str, ...]
    for_drafter: tuple[str, ...]
    next_steps: tuple[str, ...]
    symptom: Symptom
    interval: Range | None
    expected: Range | None
    shapes: tuple[ShapeReading, ...]
    comparisons: tuple[Comparison, ...]
    distances: tuple[Distance, ...]
    suspects: tuple[Suspect, ...]
    confounders: tuple[Confounder, ...]

    @property
    def shape(self) -> Shape:
        """The shape that matters most."""
        return self.shapes[0].shape
