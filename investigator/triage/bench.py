"""Benchmark results: the text that ``vllm bench serve`` and its like print, and their JSON.

JSON is not parsed as a whole: a detailed result is one line of many megabytes, and a copied one
is often cut off. The wanted fields are found by name; a quote inside a JSON string is always
escaped, so a field's name in quotes is a field. A name that comes again starts the next result.
"""

import re

from investigator.triage.reader import Piece
from investigator.triage.results import Results
from investigator.triage.symptom import InputKind, LengthPoint, Measurement
from investigator.triage.tally import MAX_POSITIONS, NUMBER

_TEXT_FIELDS = {
    "Acceptance length": "length",
    "Acceptance rate (%)": "rate",
    "Drafts": "drafts",
    "Draft tokens": "tokens",
    "Accepted tokens": "accepted",
    "Successful requests": "requests",
    "Total input tokens": "input",
    "Accept length": "sglang_length",
    "Average Acceptance length": "authors_length",
}
_TEXT = re.compile(
    rf"\s*(?P<name>{'|'.join(re.escape(name) for name in _TEXT_FIELDS)}):\s+(?P<value>{NUMBER})\s*\Z"
)
_TEXT_POSITION = re.compile(rf"\s*Position (?P<index>[0-9]{{1,3}}):\s+(?P<value>{NUMBER})\s*\Z")

_JSON_FIELDS = {
    "spec_decode_acceptance_length": "length",
    "spec_decode_acceptance_rate": "rate",
    "spec_decode_num_drafts": "drafts",
    "spec_decode_draft_tokens": "tokens",
    "spec_decode_accepted_tokens": "accepted",
    "spec_decode_per_position_acceptance_rates": "positions",
    "completed": "requests",
    "total_input_tokens": "input",
    "accept_length": "sglang_length",
    "avg_spec_accept_length": "sglang_length",
}
_REQUEST_FIELDS = {
    "num_spec_steps": "drafts",
    "num_draft_tokens": "tokens",
    "num_accepted_draft_tokens": "accepted",
    "acceptance_histogram": "histogram",
    "mean_acceptance_length": "length",
    "spec_verify_ct": "drafts",
    "spec_num_proposed_drafts": "tokens",
    "spec_num_correct_drafts": "accepted",
    "spec_correct_drafts_histogram": "histogram",
    "spec_accept_histogram": "histogram",
    "spec_accept_length": "length",
}
_LISTS = {"positions", "histogram"}
_JSON = re.compile(
    rf"[\"'](?P<name>{'|'.join(sorted({*_JSON_FIELDS, *_REQUEST_FIELDS}, key=len, reverse=True))})[\"']"
    rf"\s{{0,8}}:\s{{0,8}}(?:(?P<value>{NUMBER}(?:[eE][+-]?[0-9]{{1,2}})?)|(?P<list>\[))"
)
_LIST_PART = re.compile(r"[0-9eE+.,\s-]*")


class Bench:
    """Benchmark text, benchmark JSON and per-request JSON."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.text = Results(InputKind.BENCH_TEXT)
        self.json = Results(InputKind.BENCH_JSON)
        self.requests = Results(InputKind.REQUEST_JSON)
        self._open: tuple[Results, str, str] | None = None

    def feed(self, piece: Piece) -> InputKind | None:
        """Take one piece; the kind of what was read, or None."""
        if self._open is not None:
            return self._more(piece)
        if '"' in piece.text or "'" in piece.text:
            return self._fields(piece)
        if ":" in piece.text and len(piece.text) < 200:
            return self._table(piece)
        return None

    def measurements(self, draft_tokens: int | None) -> tuple[Measurement, ...]:
        """What was measured, one reading a kind."""
        if self._open is not None:
            self.notes.append("the input ends inside a list: it was cut off there")
        found = (part.measurement(draft_tokens) for part in (self.json, self.requests, self.text))
        return tuple(one for one in found if one is not None)

    def by_context(self) -> tuple[LengthPoint, ...]:
        """Points of the JSON results, or of the printed ones."""
        return self.json.by_context() or self.text.by_context()

    def _table(self, piece: Piece) -> InputKind | None:
        if match := _TEXT_POSITION.match(piece.text):
            current = self.text.current
            row = current.lists.setdefault("positions", []) if current else []
            if current is None or int(match["index"]) != len(row) or len(row) >= MAX_POSITIONS:
                return None
            row.append(float(match["value"]) / 100)
            current.last = piece.line
            return InputKind.BENCH_TEXT
        if match := _TEXT.match(piece.text):
            self.text.put(piece, _TEXT_FIELDS[match["name"]], float(match["value"]))
            return InputKind.BENCH_TEXT
        return None

    def _fields(self, piece: Piece) -> InputKind | None:
        kind = None
        for match in _JSON.finditer(piece.text):
            name = match["name"]
            results = self.json if name in _JSON_FIELDS else self.requests
            common = _JSON_FIELDS.get(name) or _REQUEST_FIELDS[name]
            if match["list"]:
                if common in _LISTS:
                    kind = results.kind
                    self._list(piece, results, common, piece.text[match.end() :])
            elif common not in _LISTS:
                kind = results.kind
                results.put(piece, common, float(match["value"]))
        return kind

    def _more(self, piece: Piece) -> InputKind:
        assert self._open is not None
        results, name, before = self._open
        self._open = None
        self._list(piece, results, name, before + piece.text)
        return results.kind

    def _list(self, piece: Piece, results: Results, name: str, text: str) -> None:
        """Numbers up to the closing bracket; a list that goes on is kept open."""
        body = _LIST_PART.match(text[:8192])
        inside = body[0] if body else ""
        after = text[len(inside) :]
        if not after and len(text) < 8192:
            self._open = (results, name, text)
        elif after.startswith("]"):
            try:
                values = [float(part) for part in inside.split(",") if part.strip()]
            except ValueError:
                return
            if 0 < len(values) <= MAX_POSITIONS and all(0 <= value < 1e15 for value in values):
                results.put(piece, name, values)
