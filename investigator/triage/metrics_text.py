"""Prometheus ``/metrics`` text: exact counters, summed over engines and models.

vLLM: ``vllm:spec_decode_num_drafts_total`` and its siblings (``_total`` is added by the client
library; ``_created`` series are times and left out), ``..._per_pos_total{position="i"}``,
``vllm:prefix_cache_queries/hits_total`` in tokens. SGLang: the gauge ``sglang:spec_accept_length``
(bonus token counted), ``sglang:cached_tokens_total`` and ``sglang:prompt_tokens_total``.

Two scrapes in one input (before and after a run) are told apart by a series that repeats; then
the difference is what happened in between, unless the server was restarted.
"""

import re
from collections.abc import Mapping

from investigator.triage.definitions import from_counts, from_length, other_definitions
from investigator.triage.reader import Piece
from investigator.triage.symptom import Counters, InputKind, Measurement, PrefixCache
from investigator.triage.tally import ENOUGH_DRAFTS, MAX_POSITIONS, Spread

_SERIES = re.compile(
    r"\s*(?P<engine>vllm|sglang)[:_](?P<name>[a-z0-9_]{1,80})(?P<labels>\{[^\n]{0,4000}\})?"
    r"\s+(?P<value>[0-9]{1,18}(?:\.[0-9]{1,17})?(?:[eE][+-]?[0-9]{1,2})?)(?:\s+[0-9]{1,20})?\s*\Z"
)
_POSITION = re.compile(r'\bposition="([0-9]{1,3})"')
_WANTED = {
    "vllm:spec_decode_num_drafts",
    "vllm:spec_decode_num_draft_tokens",
    "vllm:spec_decode_num_accepted_tokens",
    "vllm:spec_decode_num_accepted_tokens_per_pos",
    "vllm:prefix_cache_queries",
    "vllm:prefix_cache_hits",
    "sglang:spec_accept_length",
    "sglang:spec_accept_rate",
    "sglang:cached_tokens",
    "sglang:prompt_tokens",
}
MAX_SERIES = 20_000
GIVEN_AS = "vLLM's counters; AL = 1 + num_accepted_tokens ÷ num_drafts, pooled over engines"

Snapshot = dict[tuple[str, str], float]


class MetricsText:
    """Keeps the first and the last scrape."""

    kind = InputKind.VLLM_METRICS

    def __init__(self) -> None:
        self.notes: list[str] = []
        self._first: Snapshot = {}
        self._last: Snapshot = {}
        self._scrapes = 0
        self._lines: dict[str, list[int]] = {}

    def feed(self, piece: Piece) -> bool:
        """Take one piece; True when something was read from it."""
        text = piece.text
        if not ("vllm" in text or "sglang" in text) or (match := _SERIES.match(text)) is None:
            return False
        name = f"{match['engine']}:{match['name'].removesuffix('_total')}"
        if name not in _WANTED:
            return False
        key = (name, match["labels"] or "")
        if key in self._last or not self._scrapes:
            self._scrapes += 1
            if self._scrapes == 2:
                self._first = self._last
            self._last = {}
        if len(self._last) < MAX_SERIES:
            self._last[key] = float(match["value"])
            span = self._lines.setdefault(name, [piece.line, piece.line])
            span[1] = piece.line
        elif len(self.notes) < 1:
            self.notes.append(f"more than {MAX_SERIES} metric series; the rest was left out")
        return True

    def measurements(self) -> tuple[Measurement, ...]:
        """vLLM's counters, then SGLang's gauge."""
        return (*self._vllm(), *self._sglang())

    def prefix_cache(self) -> PrefixCache | None:
        """Hits and queries in tokens."""
        values, how = self._values()
        for hits, queries, given_as in (
            (
                "vllm:prefix_cache_hits",
                "vllm:prefix_cache_queries",
                "prefix_cache_hits ÷ prefix_cache_queries",
            ),
            ("sglang:cached_tokens", "sglang:prompt_tokens", "cached_tokens ÷ prompt_tokens"),
        ):
            if queries in self._lines:
                asked, hit = _total(values, queries), _total(values, hits)
                return PrefixCache(
                    hits=hit,
                    queries=asked,
                    rate=hit / asked if asked and hit <= asked else None,
                    line=self._lines[queries][0],
                    given_as=given_as + how,
                )
        return None

    def _vllm(self) -> tuple[Measurement, ...]:
        values, how = self._values()
        drafts = _total(values, "vllm:spec_decode_num_drafts")
        tokens = _total(values, "vllm:spec_decode_num_draft_tokens")
        accepted = _total(values, "vllm:spec_decode_num_accepted_tokens")
        if drafts <= 0:
            if "vllm:spec_decode_num_drafts" in self._lines:
                self.notes.append("the drafts counter is 0: nothing was drafted before this scrape")
            return ()
        counters = Counters(drafts=drafts, draft_tokens=tokens or None, accepted_tokens=accepted, exact=True)
        length = from_counts(drafts, accepted, GIVEN_AS + how)
        positions = self._positions(values, drafts)
        spread = Spread()
        for (name, labels), count in values.items():
            if name == "vllm:spec_decode_num_drafts" and count > 0:
                taken = values.get(("vllm:spec_decode_num_accepted_tokens", labels), 0.0)
                spread.add(1 + taken / count, count)
        spans = [span for name, span in self._lines.items() if name.startswith("vllm:spec")]
        return (
            Measurement(
                kind=InputKind.VLLM_METRICS,
                first_line=min(span[0] for span in spans),
                last_line=max(span[1] for span in spans),
                pooled=self._scrapes,
                counters=counters,
                length=length,
                per_position=positions,
                others=other_definitions(length, counters, len(positions)),
                notes=spread.remarks(),
                apart=spread.apart,
            ),
        )

    def _sglang(self) -> tuple[Measurement, ...]:
        name = "sglang:spec_accept_length"
        gauges = [value for (key, _), value in self._last.items() if key == name and 1 <= value <= 1000]
        if not gauges:
            return ()
        mean = sum(gauges) / len(gauges)
        length = from_length(
            mean, "SGLang's gauge spec_accept_length (bonus token counted), the last interval only"
        )
        spread = Spread()
        for gauge in gauges:
            spread.add(gauge, ENOUGH_DRAFTS)  # a gauge does not say how many drafts are behind it
        ranks = f"mean over {len(gauges)} ranks, not pooled by drafts" if len(gauges) > 1 else "one rank"
        return (
            Measurement(
                kind=InputKind.SGLANG_METRICS,
                first_line=self._lines[name][0],
                last_line=self._lines[name][1],
                pooled=len(gauges),
                counters=Counters(),
                length=length,
                others=other_definitions(length, Counters(), 0),
                notes=(f"a gauge of the last log interval; {ranks}", *spread.remarks()),
                apart=spread.apart,
            ),
        )

    def _positions(self, values: Mapping[tuple[str, str], float], drafts: int) -> tuple[float, ...]:
        counts: dict[int, float] = {}
        for (name, labels), value in values.items():
            if name.endswith("_per_pos") and (match := _POSITION.search(labels)):
                counts[int(match[1])] = counts.get(int(match[1]), 0.0) + value
        if not counts or sorted(counts) != list(range(len(counts))) or len(counts) > MAX_POSITIONS:
            return ()
        return tuple(min(1.0, counts[i] / drafts) for i in range(len(counts)))

    def _values(self) -> tuple[Snapshot, str]:
        """The last scrape, or last - first where that shows drafts and no restart."""
        if not self._first:
            return self._last, ""
        gained = {key: value - self._first.get(key, 0.0) for key, value in self._last.items()}
        counters = {key: value for key, value in gained.items() if "spec_accept" not in key[0]}
        if all(value >= 0 for value in counters.values()) and any(counters.values()):
            return gained, ", last scrape - first scrape"
        return (
            self._last,
            ", last scrape (the counters did not grow since the first: same scrape or a restart)",
        )


def _total(values: Mapping[tuple[str, str], float], name: str) -> int:
    return int(sum(value for (key, _), value in values.items() if key == name))
