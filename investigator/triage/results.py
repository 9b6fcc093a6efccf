"""Benchmark and per-request results, pooled by drafts."""

from dataclasses import dataclass, field

from investigator.triage.definitions import from_counts, from_length, from_ratio, other_definitions
from investigator.triage.reader import Piece
from investigator.triage.symptom import AcceptanceLength, Counters, InputKind, LengthPoint, Measurement
from investigator.triage.tally import ByContext, Positions

LENGTH_AS = {
    "length": "'acceptance length' of the benchmark, which counts the bonus token and pools by drafts",
    "sglang_length": "SGLang's 'accept length' (bonus token counted)",
    "authors_length": "the authors' 'Average Acceptance length': mean over requests of each request's mean",
}


@dataclass
class Result:
    """Fields of one result, by their common names."""

    line: int
    last: int = 0
    fields: dict[str, float] = field(default_factory=dict)
    lists: dict[str, list[float]] = field(default_factory=dict)

    def count(self, name: str) -> int | None:
        value = self.fields.get(name)
        return int(value) if value is not None and value <= 1e15 else None


class Results:
    """Collects results of one kind and pools them."""

    def __init__(self, kind: InputKind) -> None:
        self.kind = kind
        self.current: Result | None = None
        self._done = self._counted = 0
        self._drafts = self._accepted = self._tokens = 0
        self._plain_sum = 0.0
        self._positions = Positions()
        self._context = ByContext()
        self._lengths: AcceptanceLength | None = None
        self._span = [0, 0]

    def put(self, piece: Piece, name: str, value: float | list[float]) -> None:
        """One field; a name that is already there belongs to the next result."""
        if self.current is None or name in self.current.fields or name in self.current.lists:
            self.flush()
            self.current = Result(piece.line)
        self.current.last = piece.line
        if isinstance(value, list):
            self.current.lists[name] = value
        else:
            self.current.fields[name] = value

    def flush(self) -> None:
        """Close the current result and add it to the pool."""
        result, self.current = self.current, None
        if result is None:
            return
        drafts, accepted = _drafts(result), _accepted(result)
        tokens = result.count("tokens")
        if drafts and accepted is not None and (tokens is None or accepted <= tokens):
            self._drafts += drafts
            self._accepted += accepted
            self._tokens += tokens or 0
            self._counted += 1
            self._plain_sum += 1 + accepted / drafts
            self._positions.add(_positions(result, drafts), drafts)
            requests, given = result.count("requests"), result.count("input")
            if requests and given:
                self._context.add(given / requests, 1 + accepted / drafts, drafts)
        elif (length := _printed(result)) is not None:
            self._lengths = self._lengths or length
        else:
            return
        self._done += 1
        self._span = [self._span[0] or result.line, result.last]

    def measurement(self, draft_tokens: int | None) -> Measurement | None:
        """The pooled reading."""
        pending = self.current
        self.flush()
        positions = self._positions.pooled()
        length = self._lengths
        counters = Counters()
        if self._drafts:
            counters = Counters(
                drafts=self._drafts,
                draft_tokens=self._tokens or None,
                accepted_tokens=self._accepted,
                exact=True,
            )
            length = from_counts(self._drafts, self._accepted, "the benchmark's counters, pooled by drafts")
        elif length is None and draft_tokens and pending is not None and "rate" in pending.fields:
            ratio = pending.fields["rate"] / 100
            length = from_ratio(
                ratio, draft_tokens, "accepted ÷ drafted tokens, times the draft tokens a draft"
            )
            self._span = [pending.line, pending.last]
        if length is None:
            return None
        plain = self._plain_sum / self._counted if self._counted > 1 else None
        return Measurement(
            kind=self.kind,
            first_line=self._span[0],
            last_line=self._span[1],
            pooled=max(1, self._done),
            counters=counters,
            length=length,
            per_position=positions,
            others=other_definitions(length, counters, len(positions) or draft_tokens or 0, plain),
        )

    def by_context(self) -> tuple[LengthPoint, ...]:
        """AL by mean input tokens a request, one result a point."""
        return self._context.points()


def _histogram(result: Result) -> list[float]:
    return result.lists.get("histogram", [])


def _drafts(result: Result) -> int | None:
    counted = result.count("drafts")
    return counted if counted is not None else int(sum(_histogram(result))) or None


def _accepted(result: Result) -> int | None:
    """Accepted tokens; a histogram counts drafts by how many of their tokens were accepted."""
    counted = result.count("accepted")
    if counted is not None:
        return counted
    if histogram := _histogram(result):
        return int(sum(index * value for index, value in enumerate(histogram)))
    drafts, length = result.count("drafts"), result.fields.get("length")
    return round((length - 1) * drafts) if drafts and length is not None and 1 <= length <= 1000 else None


def _positions(result: Result, drafts: int) -> list[float]:
    if listed := result.lists.get("positions"):
        return listed if all(value <= 1 for value in listed) else []
    histogram = _histogram(result)
    return [min(1.0, sum(histogram[i:]) / drafts) for i in range(1, len(histogram))]


def _printed(result: Result) -> AcceptanceLength | None:
    for name, given_as in LENGTH_AS.items():
        if 1 <= (value := result.fields.get(name, 0.0)) <= 1000:
            return from_length(value, given_as)
    return None
