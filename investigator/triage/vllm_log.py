"""vLLM's log: the ``SpecDecoding metrics`` line and the engine line printed before it.

The line prints tokens, a mean length and per-position rates for one interval, but not the
number of drafts; :func:`drafts_of_interval` works it back. Field order and names changed over
the releases (``Draft acceptance rate`` became ``Avg Draft acceptance rate``, throughputs were
added), so each field is looked for by its own name and a missing one is simply missing.
"""

import re

from investigator.triage.definitions import drafts_of_interval, from_counts, from_ratio, other_definitions
from investigator.triage.reader import Piece
from investigator.triage.symptom import (
    AcceptanceLength,
    Counters,
    InputKind,
    LengthPoint,
    Measurement,
    PrefixCache,
)
from investigator.triage.tally import NUMBER, ByContext, Positions, Spread, number, rates

_LENGTH = re.compile(rf"Mean acceptance length: ?({NUMBER})")
_ACCEPTED = re.compile(r"\bAccepted: ?([0-9]{1,15}) ?tokens")
_DRAFTED = re.compile(r"\bDrafted: ?([0-9]{1,15}) ?tokens")
_POSITIONS = re.compile(r"Per-position acceptance rate: ?([0-9., ]{1,4096})")
_RUNNING = re.compile(r"Running: ?([0-9]{1,9}) reqs")
_USAGE = re.compile(rf"KV cache usage: ?({NUMBER})%")
_HIT_RATE = re.compile(rf"(?<!External )Prefix cache hit rate: ?({NUMBER})%")
_KV_TOKENS = re.compile(r"KV cache size: ([0-9]{1,3}(?:,[0-9]{3}){0,5}) tokens")

GIVEN_AS = "vLLM's 'Mean acceptance length', which counts the bonus token, pooled over intervals by drafts"
RATIO_AS = "vLLM's draft acceptance rate (accepted ÷ drafted tokens), times the draft tokens a draft"


class VllmLog:
    """Adds up every interval of a log."""

    kind = InputKind.VLLM_LOG

    def __init__(self) -> None:
        self.notes: list[str] = []
        self._first = self._last = 0
        self._intervals = self._without_drafts = self._cut_lists = 0
        self._accepted = self._drafts = 0
        self._all_accepted = self._all_drafted = 0
        self._error = self._length_sum = 0.0
        self._spread = Spread()
        self._positions = Positions()
        self._context = ByContext()
        self._kv_tokens = 0
        self._request_context = 0.0
        self._hit_rates = 0
        self._hit_rate: tuple[float, int] | None = None

    def feed(self, piece: Piece) -> bool:
        """Take one piece; True when something was read from it."""
        text = piece.text
        if "SpecDecoding metrics" in text:
            return self._interval(piece)
        if "KV cache usage" in text:
            return self._engine_line(piece)
        if "KV cache size" in text and (match := _KV_TOKENS.search(text)):
            self._kv_tokens = int(match[1].replace(",", ""))
            return True
        if "DiffusionDecoding metrics" in text and len(self.notes) < 8:
            self.notes.append(f"line {piece.line}: diffusion decoding, not speculative decoding; left out")
        return False

    def measurements(self, draft_tokens: int | None) -> tuple[Measurement, ...]:
        """The pooled reading; ``draft_tokens`` (from the settings) serves lines without positions."""
        if not self._intervals:
            return ()
        length = self._length(draft_tokens)
        if length is None:
            return ()
        counters = Counters(
            drafts=self._drafts or None, draft_tokens=self._all_drafted, accepted_tokens=self._all_accepted
        )
        measured = self._intervals - self._without_drafts
        widths = self._positions.widths
        return (
            Measurement(
                kind=self.kind,
                first_line=self._first,
                last_line=self._last,
                pooled=self._intervals,
                counters=counters,
                length=length,
                per_position=self._positions.pooled(),
                others=other_definitions(
                    length,
                    counters,
                    widths[0] if widths else draft_tokens or 0,
                    self._length_sum / measured if measured > 1 else None,
                ),
                notes=self._remarks(widths),
                apart=self._spread.apart,
            ),
        )

    def prefix_cache(self) -> PrefixCache | None:
        """The last printed hit rate (vLLM prints it over its most recent 1,000 requests)."""
        if self._hit_rate is None:
            return None
        rate, line = self._hit_rate
        return PrefixCache(
            hits=None,
            queries=None,
            rate=rate,
            line=line,
            given_as=f"'Prefix cache hit rate', last of {self._hit_rates} printed",
        )

    def by_context(self) -> tuple[LengthPoint, ...]:
        """AL by context length, from KV cache usage × size ÷ running requests."""
        return self._context.points()

    def _interval(self, piece: Piece) -> bool:
        text = piece.text
        accepted, drafted = _ACCEPTED.search(text), _DRAFTED.search(text)
        if accepted is None or drafted is None or int(accepted[1]) > int(drafted[1]):
            self._note(f"line {piece.line}: a metrics line without usable token counts; left out")
            return False
        taken, tokens = int(accepted[1]), int(drafted[1])
        printed = _LENGTH.search(text)
        length = number(printed[1]) if printed else None
        listed = _POSITIONS.search(text)
        row = rates(listed[1]) if listed else ()
        if row and length is not None and abs(sum(row) - (length - 1)) > 0.006 + 0.0006 * len(row):
            self._cut_lists += 1
            row = ()
        self._first = self._first or piece.line
        self._last = piece.line
        self._intervals += 1
        self._all_accepted += taken
        self._all_drafted += tokens
        found = drafts_of_interval(taken, tokens, length, len(row))
        if found is None:
            self._without_drafts += 1
            return True
        drafts, error = found
        self._drafts += drafts
        self._error += error * drafts
        self._accepted += taken
        self._length_sum += 1 + taken / drafts
        self._spread.add(1 + taken / drafts, drafts)
        self._positions.add(row, drafts)
        self._context.add(self._request_context, 1 + taken / drafts, drafts)
        return True

    def _engine_line(self, piece: Piece) -> bool:
        running, usage = _RUNNING.search(piece.text), _USAGE.search(piece.text)
        share = number(usage[1]) if usage else None
        requests = int(running[1]) if running else 0
        self._request_context = 0.0
        if share is not None and requests:
            self._request_context = share / 100 * self._kv_tokens / requests
        if match := _HIT_RATE.search(piece.text):
            rate = number(match[1])
            if rate is not None and rate <= 100:
                self._hit_rates += 1
                self._hit_rate = (rate / 100, piece.line)
                return True
        return False

    def _length(self, draft_tokens: int | None) -> AcceptanceLength | None:
        if self._drafts:
            return from_counts(self._drafts, self._accepted, GIVEN_AS, spread=self._error / self._drafts)
        if draft_tokens and self._all_drafted:
            return from_ratio(self._all_accepted / self._all_drafted, draft_tokens, RATIO_AS)
        self._note("the log gives accepted and drafted tokens but nothing that tells the number of drafts")
        return None

    def _remarks(self, widths: tuple[int, ...]) -> tuple[str, ...]:
        found = []
        if self._error:
            found.append(
                "drafts were worked back from accepted ÷ (AL - 1) for part of the lines: drafts were "
                "shorter than the number of positions there, or the list was cut"
            )
        if self._cut_lists:
            found.append(f"{self._cut_lists} per-position lists do not add up to AL - 1 and were left out")
        found += self._spread.remarks()
        if len(widths) > 1:
            spelled = ", ".join(str(width) for width in sorted(widths)[:8])
            found.append(
                f"several numbers of draft positions ({spelled}): more than one deployment is pooled here"
            )
        return tuple(found)

    def _note(self, text: str) -> None:
        if len(self.notes) < 8:
            self.notes.append(text)
