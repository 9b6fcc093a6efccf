"""MTP drafters on real releases, against what was worked out by hand (``tests/truth/mtp.json``)."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from investigator.agents.quoting import answer_of
from investigator.checkpoint import Checkpoint
from investigator.code.program import Program
from investigator.contracts.registry import BY_ID
from investigator.engines.registry import known
from investigator.model import Answer, Role, Runner
from investigator.sources.open import Workspace, open_release
from investigator.synthesizer import synthesize
from tests.support import mtp

pytestmark = [pytest.mark.network, pytest.mark.slow]

TRUTH = Path(__file__).parents[1] / "truth" / "mtp.json"


@dataclass(frozen=True)
class Cell:
    """What one release does with one model that drafts for itself."""

    engine: str
    release: str
    model: str
    contract: str
    runner: Runner | None
    block_size: int | None
    verdict: str


def cells() -> Iterator[Cell]:
    for table in json.loads(TRUTH.read_text()):
        for row in table["cells"]:
            yield Cell(
                table["engine"],
                table["release"],
                table["model"],
                row["contract"],
                Runner(row["runner"]) if row["runner"] else None,
                row.get("block_size"),
                row["verdict"],
            )


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    found = Workspace.open(cache_dir=tmp_path_factory.mktemp("cache"))
    with found.transport:
        yield found


def checkpoint(cell: Cell) -> Checkpoint:
    config = getattr(mtp, cell.model)
    found = mtp.drafter(config) if cell.model == "ASSISTANT" else mtp.own(config)
    return replace(found, block_size=cell.block_size)


@pytest.mark.parametrize(
    "cell",
    tuple(cells()),
    ids=lambda c: f"{c.engine}-{c.release}-{c.model}-{c.contract}-{c.runner}-{c.block_size}".lower(),
)
def test_a_cell(cell: Cell, workspace: Workspace) -> None:
    subject = checkpoint(cell)
    tree = open_release(cell.engine, cell.release, workspace)
    told = known(cell.engine).make(Program(tree), subject, {}).ask(cell.contract, cell.runner)
    asked = BY_ID[cell.contract].ask_checkpoint
    assert asked is not None
    answers = [
        answer_of(
            told, tree, contract=cell.contract, role=Role.ENGINE, agent=cell.engine, runner=cell.runner
        ),
        Answer(
            contract=cell.contract,
            role=Role.CHECKPOINT,
            agent="hub",
            source="draft",
            outcome=asked(subject)[0],
            evidence=(),
        ),
    ]

    (finding,) = synthesize(answers, subject)
    assert finding.verdict.value == cell.verdict, finding.why
