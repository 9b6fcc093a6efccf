"""What a decision about a symptom looks at."""

from dataclasses import dataclass

from investigator.triage.confounders import Confounder
from investigator.triage.figures import Figure, Range
from investigator.triage.shape import Shape, ShapeReading
from investigator.triage.symptom import Symptom


@dataclass(frozen=True, kw_only=True)
class View:
    """A symptom, and what is known about its pair.

    ``rows``: the pair's figures; ``expected``: their range; ``band``: the interval of what was measured.
    ``left``: share of the lowest published accepted tokens that the upper end of the band keeps,
    confounders that show taken out; None without a figure. ``one``, ``every``: shares that the strongest
    known confounder leaves, and all of them together.
    """

    symptom: Symptom
    shapes: tuple[ShapeReading, ...]
    confounders: tuple[Confounder, ...]
    rows: tuple[Figure, ...]
    expected: Range | None
    band: Range | None
    left: float | None
    one: float
    every: float

    @property
    def shape(self) -> Shape:
        """The shape that is decided by."""
        return self.shapes[0].shape

    @property
    def length(self) -> float:
        """The acceptance length; 0 where none was measured."""
        return self.symptom.best.length.value if self.symptom.best else 0.0

    @property
    def published(self) -> str:
        """The published range in words: ``3.70 to 7.76``, or one figure where both ends read alike."""
        if self.expected is None:
            return "?"
        low, high = (f"{end:.2f}" for end in self.expected)
        return low if low == high else f"{low} to {high}"

    def has(self, name: str) -> bool:
        """Whether a confounder shows."""
        return any(one.name == name for one in self.confounders)

    def shows(self, shape: Shape) -> bool:
        """Whether a shape is among those that are seen."""
        return any(reading.shape is shape for reading in self.shapes)
