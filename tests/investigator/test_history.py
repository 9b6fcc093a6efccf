"""What became of a contract over releases: verdicts in a row, told as a story."""

import pytest

from investigator.history import Cell, ReleaseRow, Timeline, story
from investigator.model import Runner, Verdict

LETTERS = {
    "x": Verdict.BROKEN,
    "p": Verdict.PARTIAL,
    "r": Verdict.REFUSED,
    "-": Verdict.UNSUPPORTED,
    "?": Verdict.UNKNOWN,
    ".": Verdict.NOT_APPLICABLE,
    "o": Verdict.HONOURED,
}


def rows(
    verdicts: str, contract: str = "lookahead", runner: Runner | None = None, first: int = 20
) -> tuple[ReleaseRow, ...]:
    """One release per letter: 0.20, 0.21, ...; a blank is a release that could not be read."""
    return tuple(
        ReleaseRow(
            version=f"0.{number}",
            unread="a damaged wheel" if letter == " " else None,
            cells=(Cell(contract=contract, runner=runner, verdict=LETTERS[letter], why=""),)
            if letter != " "
            else (),
        )
        for number, letter in enumerate(verdicts, first)
    )


@pytest.mark.parametrize(
    ("verdicts", "sentence"),
    [
        ("ooo", "never seen broken"),
        ("xxo", "first bad 0.20, fixed in 0.22"),
        ("oxo", "first bad 0.21, fixed in 0.22"),
        ("xxx", "first bad 0.20"),
        ("xoxo", "first bad 0.20, fixed in 0.21, regressed in 0.22"),
        # A second regression changes nothing: the first one is told.
        ("xoxox", "first bad 0.20, fixed in 0.21, regressed in 0.22"),
        ("pxo", "first bad 0.20, fixed in 0.22"),
        # Refusing is no repair, ...
        ("xrr", "first bad 0.20, refused since 0.21"),
        ("xrro", "first bad 0.20, fixed in 0.23"),
        ("xor", "first bad 0.20, fixed in 0.21, refused since 0.22"),
        ("rrr", "refused since 0.20"),
        # ... and neither is a runner that does not take the method, or not knowing.
        ("x-?o", "first bad 0.20, fixed in 0.23"),
        ("--", "never seen broken"),
        ("??", "never seen broken"),
        ("..", "never seen broken"),
        # A release that could not be read hides nothing of the others.
        ("x o", "first bad 0.20, fixed in 0.22"),
        ("r r", "refused since 0.20"),
        ("", "never seen broken"),
    ],
)
def test_stories(verdicts: str, sentence: str) -> None:
    assert story(rows(verdicts), "lookahead", None).sentence == sentence


def test_other_contracts_and_runners_are_other_stories() -> None:
    both = tuple(
        ReleaseRow(version=a.version, cells=a.cells + b.cells)
        for a, b in zip(
            rows("xo", "target-layer-offset", Runner.V1),
            rows("-x", "target-layer-offset", Runner.V2),
            strict=True,
        )
    )
    timeline = Timeline(engine="vllm", draft="o/d", rows=both)

    assert timeline.questions == (("target-layer-offset", Runner.V1), ("target-layer-offset", Runner.V2))
    assert [s.sentence for s in timeline.stories] == ["first bad 0.20, fixed in 0.21", "first bad 0.21"]


def test_questions_that_come_up_later_are_told_too() -> None:
    timeline = Timeline(engine="vllm", draft="o/d", rows=rows("o") + rows("x", "rope", first=21))

    assert timeline.questions == (("lookahead", None), ("rope", None))
    assert [s.first_bad for s in timeline.stories] == [None, "0.21"]
