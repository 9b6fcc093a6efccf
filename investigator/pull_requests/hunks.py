"""Put hunks into a text, in memory, as strictly as git does.

Every line that a hunk expects must stand there as it is; only its place may have moved, since
lines were added or removed above. There is no fuzz: a hunk whose context differs does not fit.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from investigator.sources.diff_reader import Hunk


@dataclass(frozen=True)
class Misfit:
    """A hunk that does not fit. ``line``: where it was looked for, counted from 1."""

    line: int
    why: str


def apply_hunks(content: bytes, hunks: Sequence[Hunk]) -> bytes | Misfit:
    """The text after all hunks, or the first that does not fit."""
    lines = split_lines(content)
    made: list[bytes] = []
    done = 0  # lines of the text that are dealt with
    for hunk in hunks:
        wanted = max(hunk.new_start - 1, 0) - (len(made) - done)
        at = _place(lines, hunk, wanted, done)
        if at is None:
            return Misfit(max(hunk.old_start, 1), _why(lines, hunk.old, max(wanted, done)))
        made += lines[done:at]
        made += hunk.new
        done = at + len(hunk.old)
    return b"".join(made + lines[done:])


def unapply_hunks(content: bytes, hunks: Sequence[Hunk]) -> bytes | Misfit:
    """The text before all hunks, or the first whose result does not stand there."""
    return apply_hunks(content, [hunk.reversed() for hunk in hunks])


def split_lines(content: bytes) -> list[bytes]:
    """Lines with their ends; only ``\\n`` ends one."""
    pieces = content.split(b"\n")
    lines = [piece + b"\n" for piece in pieces[:-1]]
    return [*lines, pieces[-1]] if pieces[-1] else lines


def _place(lines: list[bytes], hunk: Hunk, wanted: int, least: int) -> int | None:
    """Where the hunk's lines stand, nearest to ``wanted`` and not before ``least``.

    As git has it, a hunk of the first line must stand at the start, and one without context
    below at the end. One that expects no line at all fits on an empty file alone: anywhere else
    it would fit whatever the file holds.
    """
    old = list(hunk.old)
    if not old and lines:
        return None
    last = len(lines) - len(old)
    if hunk.old_start <= 1:
        last = min(last, 0)
    if not hunk.lines or hunk.lines[-1][0] != " ":
        least = max(least, len(lines) - len(old))
    return next((at for at in _outward(wanted, least, last) if lines[at : at + len(old)] == old), None)


def _outward(centre: int, least: int, last: int) -> Iterator[int]:
    """Positions from ``least`` to ``last``, nearest to ``centre`` first, each once."""
    if last < least:
        return
    centre = min(max(centre, least), last)
    yield centre
    for distance in range(1, last - least + 1):
        if centre + distance <= last:
            yield centre + distance
        if centre - distance >= least:
            yield centre - distance


def _why(lines: list[bytes], old: Sequence[bytes], at: int) -> str:
    """The first line that differs where the hunk should stand."""
    if not old:
        return "the change names no line that it stands beside"
    for offset, line in enumerate(old):
        found = lines[at + offset] if at + offset < len(lines) else None
        if found is None:
            return "the file ends before the change"
        if found != line:
            return f"line {at + offset + 1} is not what the change expects"
    return "its lines stand only before an earlier change"
