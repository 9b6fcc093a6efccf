"""Every quote is read again from its source before it is printed."""

from collections.abc import Iterable, Mapping

from investigator.errors import IncompleteError, InvestigateError
from investigator.model import Evidence
from investigator.sources.interface import Tree

MOST_LINES = 3
"""Lines that one piece of evidence quotes at most."""


class EvidenceError(IncompleteError):
    """A quote is not what its source says there: an error in this program, never the source's."""


def check_evidence(evidence: Iterable[Evidence], trees: Mapping[str, Tree]) -> int:
    """Read each quote again from its tree (source id -> tree); returns how many were read.

    Raises EvidenceError for the first that does not match, or whose file cannot be read.
    """
    checked = 0
    texts: dict[tuple[str, str], list[str]] = {}
    for item in dict.fromkeys(evidence):
        place = (item.source, item.path)
        if place not in texts:
            texts[place] = _lines(item, trees)
        _compare(item, texts[place])
        checked += 1
    return checked


def _lines(item: Evidence, trees: Mapping[str, Tree]) -> list[str]:
    tree = trees.get(item.source)
    if tree is None:
        raise _mismatch(item, f"there is no source {item.source!r} to read it from again")
    try:
        text = tree.read(item.path).decode("utf-8", errors="replace")
    except InvestigateError as error:
        raise _mismatch(item, f"it cannot be read again: {error}") from error
    return [line.removesuffix("\r") for line in text.split("\n")]


def _compare(item: Evidence, lines: list[str]) -> None:
    if not 1 <= item.line <= item.end_line <= len(lines):
        raise _mismatch(item, f"the file has {len(lines)} lines")
    there = lines[item.line - 1 : item.end_line][:MOST_LINES]
    if item.quote.split("\n") != there:
        raise _mismatch(item, f"the quote is {item.quote!r}, the file says {chr(10).join(there)!r}")


def _mismatch(item: Evidence, reason: str) -> EvidenceError:
    where = f"{item.source}:{item.path}:{item.line}"
    return EvidenceError(f"evidence at {where} does not hold: {reason}", "this is a defect; please report it")
