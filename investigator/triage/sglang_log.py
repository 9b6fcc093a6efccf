"""SGLang's log: ``accept len`` and ``accept rate`` on the decode line, ``#cached-token`` on prefill.

``accept len`` is accepted drafts + bonus token a verify step, the mean of one log interval.
The line carries no counts, so intervals are weighted by the requests that were running:
each interval has the same number of steps (``--decode-log-interval``), one draft a request
and step. That equals pooling by drafts as long as the number of requests held during it.
"""

import re

from investigator.triage.definitions import from_length, other_definitions
from investigator.triage.reader import Piece
from investigator.triage.symptom import Counters, InputKind, LengthPoint, Measurement, PrefixCache
from investigator.triage.tally import NUMBER, ByContext, Spread, number

_LENGTH = re.compile(rf"(?<!block )\baccept len: ?({NUMBER})")
_RATE = re.compile(r"\baccept rate: ?([01](?:\.[0-9]{1,12})?)\b")
_RUNNING = re.compile(r"#running-req: ?([0-9]{1,9})")
_TOKENS = re.compile(r"#(?:full )?token: ?([0-9]{1,12})")
_NEW = re.compile(r"#new-token: ?([0-9]{1,12})")
_CACHED = re.compile(r"#cached-token: ?([0-9]{1,12})")

GIVEN_AS = (
    "SGLang's 'accept len' (accepted drafts + bonus token), mean of intervals weighted by running requests"
)
STEPS_A_LINE = 40
"""SGLang's default ``--decode-log-interval`` (0.5.11 to 0.5.23)."""


class SglangLog:
    """Adds up every decode line of a log."""

    kind = InputKind.SGLANG_LOG

    def __init__(self) -> None:
        self.notes: list[str] = []
        self._first = self._last = 0
        self._lines = 0
        self._weight = self._length = self._plain = 0.0
        self._rate = self._rate_weight = 0.0
        self._context = ByContext()
        self._spread = Spread()
        self._new = self._cached = self._prefill_line = 0

    def feed(self, piece: Piece) -> bool:
        """Take one piece; True when something was read from it."""
        if "accept len" in piece.text:
            return self._decode(piece)
        if "#cached-token" in piece.text:
            return self._prefill(piece)
        return False

    def measurements(self, draft_tokens: int | None, steps_a_line: int | None) -> tuple[Measurement, ...]:
        """The weighted reading. ``draft_tokens``: tokens a draft, when the settings tell."""
        if not self._lines:
            return ()
        mean = self._length / self._weight
        length = from_length(mean, GIVEN_AS)
        counters = Counters(drafts=round(self._weight * (steps_a_line or STEPS_A_LINE)))
        tokens = draft_tokens or self._draft_tokens(mean) or 0
        return (
            Measurement(
                kind=self.kind,
                first_line=self._first,
                last_line=self._last,
                pooled=self._lines,
                counters=counters,
                length=length,
                others=other_definitions(
                    length, counters, tokens, self._plain / self._lines if self._lines > 1 else None
                ),
                notes=(
                    "the log gives no counts: the number of drafts is running requests × "
                    f"{steps_a_line or STEPS_A_LINE} steps a line, summed",
                    *self._spread.remarks(),
                ),
                apart=self._spread.apart,
            ),
        )

    def prefix_cache(self) -> PrefixCache | None:
        """Cached ÷ (cached + new) prefill tokens, summed over the log."""
        total = self._new + self._cached
        if not total:
            return None
        return PrefixCache(
            hits=self._cached,
            queries=total,
            rate=self._cached / total,
            line=self._prefill_line,
            given_as="'#cached-token' ÷ ('#new-token' + '#cached-token'), summed",
        )

    def by_context(self) -> tuple[LengthPoint, ...]:
        """AL by context length, from tokens in the pool ÷ running requests."""
        return self._context.points()

    def _decode(self, piece: Piece) -> bool:
        printed = _LENGTH.search(piece.text)
        length = number(printed[1]) if printed else None
        if length is None or not 1 <= length <= 1000:
            return False
        running = _RUNNING.search(piece.text)
        weight = max(1, int(running[1])) if running else 1
        self._first = self._first or piece.line
        self._last = piece.line
        self._lines += 1
        self._weight += weight
        self._length += length * weight
        self._plain += length
        self._spread.add(length, weight * STEPS_A_LINE)
        if rate := _RATE.search(piece.text):
            self._rate += float(rate[1]) * weight
            self._rate_weight += weight
        if tokens := _TOKENS.search(piece.text):
            self._context.add(int(tokens[1]) / weight, length, weight)
        return True

    def _prefill(self, piece: Piece) -> bool:
        new, cached = _NEW.search(piece.text), _CACHED.search(piece.text)
        if new is None or cached is None:
            return False
        self._new += int(new[1])
        self._cached += int(cached[1])
        self._prefill_line = piece.line
        return True

    def _draft_tokens(self, mean: float) -> int | None:
        """accept rate = (AL - 1) ÷ draft tokens, so the two printed figures give the third."""
        if self._rate_weight == 0 or self._rate / self._rate_weight < 0.02:
            return None
        return round((mean - 1) / (self._rate / self._rate_weight))
