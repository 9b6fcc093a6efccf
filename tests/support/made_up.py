"""Drafters that nobody published, on real releases: what is found of one, with the usual references."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from investigator.agents.quoting import answer_of
from investigator.checkpoint import Checkpoint
from investigator.code.program import Program
from investigator.contracts.registry import CONTRACTS
from investigator.engines.registry import known
from investigator.engines.remembered import Memory
from investigator.history import Cell, ReleaseRow
from investigator.model import Answer, Role, Runner
from investigator.references.reading import QUESTIONS, ask
from investigator.sources.open import Workspace, open_release
from investigator.sources.package_index import Release
from investigator.timeline import Background, ask_release
from tests.support.releases import REFERENCE


def shared_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all workers of a test run."""
    own = tmp_path_factory.getbasetemp()
    return (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "releases"


class Reading:
    """Reads releases with one store; a drafter's and the reference's answers are gathered once."""

    def __init__(self, folder: Path) -> None:
        self.workspace = Workspace.open(cache_dir=folder)
        self._given: dict[str, Background] = {}

    def row(self, engine: str, version: str, checkpoint: Checkpoint) -> ReleaseRow:
        """What one release makes of a drafter."""
        given = self._given.get(repr(checkpoint))
        if given is None:
            given = Background(checkpoint, tuple(self._answers(checkpoint)))
            self._given[repr(checkpoint)] = given
        memory = Memory(self.workspace.store, checkpoint, {})
        tree = open_release(engine, version, self.workspace)
        release = Release(version=version, wheels=(), uploaded=None, yanked=None)
        return ask_release(known(engine), release, tree, given, memory)

    def cell(
        self, engine: str, version: str, checkpoint: Checkpoint, contract: str, runner: Runner | None = None
    ) -> Cell:
        """One contract of it."""
        row = self.row(engine, version, checkpoint)
        return next(cell for cell in row.cells if (cell.contract, cell.runner) == (contract, runner))

    def _answers(self, checkpoint: Checkpoint) -> Iterator[Answer]:
        tree = open_release(*REFERENCE, self.workspace)
        for contract in CONTRACTS:
            if contract.ask_checkpoint is not None:
                outcome, _ = contract.ask_checkpoint(checkpoint)
                yield Answer(
                    contract=contract.id, role=Role.CHECKPOINT, agent="hub", source="draft", outcome=outcome
                )
            if contract.id in QUESTIONS:
                told = ask(contract.id, Program(tree), checkpoint)
                assert told is not None
                yield answer_of(told, tree, contract=contract.id, role=Role.REFERENCE, agent="reference")
