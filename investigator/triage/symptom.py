"""What an input shows: measurements in one definition, settings, and where each was read.

One definition everywhere: acceptance length (AL) = 1 + accepted tokens ÷ drafts, pooled over
all drafts, the bonus token counted. Whatever an input calls it, it is converted into this and
the conversion is written down.
"""

from dataclasses import dataclass
from enum import StrEnum


class InputKind(StrEnum):
    """The sorts of text a symptom is read from, most exact first."""

    BENCH_JSON = "benchmark JSON"
    VLLM_METRICS = "vLLM /metrics"
    REQUEST_JSON = "per-request JSON"
    BENCH_TEXT = "benchmark output"
    VLLM_LOG = "vLLM log"
    SGLANG_METRICS = "SGLang /metrics"
    SGLANG_LOG = "SGLang log"
    COMMAND = "command line"
    STARTUP = "start-up log"


@dataclass(frozen=True, kw_only=True)
class AcceptanceLength:
    """AL in tokens a draft. ``low`` and ``high``: what rounding in the input leaves open.

    ``arithmetic`` is the sum as a person would write it; ``given_as`` names the input's own
    definition and how it was converted.
    """

    value: float
    low: float
    high: float
    arithmetic: str
    given_as: str


@dataclass(frozen=True, kw_only=True)
class Counters:
    """Totals. ``exact``: printed as integers; otherwise ``drafts`` was worked back from
    rounded figures. A count that the input does not give is None."""

    drafts: int | None = None
    draft_tokens: int | None = None
    accepted_tokens: int | None = None
    exact: bool = False


@dataclass(frozen=True, kw_only=True)
class OtherDefinition:
    """The same data under another name that people use; ``value`` is in ``unit``."""

    name: str
    value: float
    unit: str
    formula: str


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """One independent reading of the acceptance length.

    ``pooled``: how many log intervals, results or scrapes went into it.
    ``per_position``: share of drafts whose token at that position was accepted, first
    position first, each in [0, 1]; empty when the input does not show it.
    """

    kind: InputKind
    first_line: int
    last_line: int
    pooled: int
    counters: Counters
    length: AcceptanceLength
    per_position: tuple[float, ...] = ()
    others: tuple[OtherDefinition, ...] = ()
    notes: tuple[str, ...] = ()
    apart: tuple[float, float] | None = None
    """The lowest and highest AL of its parts, where these are too far apart to be one thing."""


@dataclass(frozen=True, kw_only=True)
class PrefixCache:
    """Prefix-cache counts in tokens, or only the printed rate in [0, 1]."""

    hits: int | None
    queries: int | None
    rate: float | None
    line: int
    given_as: str


@dataclass(frozen=True, kw_only=True)
class LengthPoint:
    """Acceptance length at about one context length (tokens a request)."""

    context_tokens: float
    length: float
    weight: float
    """Drafts, or what stands for them, behind this point."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Something the input says about the deployment. ``value`` is foreign text."""

    name: str
    value: str
    line: int


@dataclass(frozen=True, kw_only=True)
class UsedLine:
    """A line that something was read from; ``text`` is cut, printable, and still foreign."""

    number: int
    kind: InputKind
    text: str


@dataclass(frozen=True, kw_only=True)
class Symptom:
    """All that one input shows. ``measurements``: most exact first.

    ``prefix_caches``: as measurements, one a kind. ``lines`` are the first lines used,
    ``lines_used`` counts all of them. ``notes`` say what could not be read, and why.
    """

    measurements: tuple[Measurement, ...] = ()
    prefix_cache: PrefixCache | None = None
    by_context: tuple[LengthPoint, ...] = ()
    settings: tuple[Setting, ...] = ()
    lines: tuple[UsedLine, ...] = ()
    lines_used: int = 0
    lines_read: int = 0
    bytes_read: int = 0
    notes: tuple[str, ...] = ()

    @property
    def recognised(self) -> bool:
        """Whether anything at all was understood."""
        return self.lines_used > 0

    @property
    def best(self) -> Measurement | None:
        """The most exact measurement."""
        return self.measurements[0] if self.measurements else None

    @property
    def per_position(self) -> tuple[float, ...]:
        """Per-position acceptance from the most exact measurement that shows it."""
        return next((m.per_position for m in self.measurements if m.per_position), ())

    def setting(self, name: str) -> str | None:
        """The last value seen under ``name``."""
        return next((s.value for s in reversed(self.settings) if s.name == name), None)

    def where(self, name: str) -> int | None:
        """The line of the last value seen under ``name``."""
        return next((s.line for s in reversed(self.settings) if s.name == name), None)
