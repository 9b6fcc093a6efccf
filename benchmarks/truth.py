"""What each release really does, as it was worked out by hand (``tests/truth``), and who gets it right."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "tests" / "truth"
FIRST_THREE = ("target-layer-offset", "layer-types", "cache-drop")
FOUR = ("0.20.1", "0.22.1", "0.26.0", "0.33.0")
FOUR_CONTRACTS = (*FIRST_THREE, "lookahead")
"""The contracts of the four-release table."""

Cells = Mapping[tuple[str, str, str], frozenset[str]]
"""(drafter, release, ``contract/runner``) -> the verdicts that a careful reader may give."""
Verdicts = Mapping[str, Mapping[str, str]]
"""Release -> ``contract/runner`` -> verdict."""


@dataclass(frozen=True)
class Score:
    """How many of ``cells`` are right, unknown, and wrong."""

    cells: int
    right: int
    unknown: int

    @property
    def wrong(self) -> int:
        """Neither right nor unknown."""
        return self.cells - self.right - self.unknown

    def __str__(self) -> str:
        return f"{self.right} of {self.cells}"


def cells(files: Sequence[str] = ("vllm_a.json", "vllm_b.json"), folder: Path = FOLDER) -> Cells:
    """The cells about published drafters."""
    found: dict[tuple[str, str, str], frozenset[str]] = {}
    for name in files:
        for table in json.loads((folder / name).read_text(encoding="utf-8")):
            draft = table.get("draft", "")
            if draft.count("/") != 1 or " " in draft or "change" in table:
                continue  # made up for a test
            for row in (*table.get("cells", ()), *table.get("debatable", ())):
                question = f"{row['contract']}/{row['runner'] or 'any'}"
                verdicts = row.get("verdicts", [row.get("verdict")])
                found.setdefault((draft, row["release"], question), frozenset(verdicts))
    return found


def about(known: Cells, draft: str, contracts: Iterable[str], releases: Iterable[str]) -> Cells:
    """The cells about one drafter, these contracts and these releases."""
    kinds, versions = frozenset(contracts), frozenset(releases)
    return {
        key: verdicts
        for key, verdicts in known.items()
        if key[0] == draft and key[1] in versions and key[2].partition("/")[0] in kinds
    }


def score(found: Verdicts, wanted: Cells) -> Score:
    """How ``found`` stands to the cells; an answer that is missing counts as unknown."""
    told = [
        (found.get(release, {}).get(question, "unknown"), right)
        for (_, release, question), right in wanted.items()
    ]
    return Score(
        cells=len(told),
        right=sum(verdict in right for verdict, right in told),
        unknown=sum(verdict == "unknown" and verdict not in right for verdict, right in told),
    )


def missed(found: Verdicts, wanted: Cells) -> list[str]:
    """Each cell that is not right, as ``release question: found instead of right``."""
    return [
        f"{release} {question}: {told} instead of {' or '.join(sorted(right))}"
        for (_, release, question), right in wanted.items()
        if (told := found.get(release, {}).get(question, "unknown")) not in right
    ]
