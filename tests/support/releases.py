"""Real releases, read from the package index at test time into one store, and verdicts on them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path

import pytest

from investigator.agents.quoting import answer_of
from investigator.checkpoint import Checkpoint, ModelConfig
from investigator.checkpoints import model_config, read_checkpoint
from investigator.code.program import ParsedFiles, Program
from investigator.contracts.registry import CONTRACTS
from investigator.engines.registry import known
from investigator.model import Answer, Finding, Json, Role, Source
from investigator.references.reading import QUESTIONS as ASKED
from investigator.references.reading import ask
from investigator.sources.interface import Tree
from investigator.sources.open import Workspace, open_release
from investigator.sources.text_tree import TextTree
from investigator.synthesizer import synthesize

MIXED = "z-lab/Qwen3.6-27B-DFlash"
FULL = "z-lab/Qwen3-8B-DFlash-b16"
SECOND = "z-lab/Qwen3.8-27B-DFlash2"
REFERENCE = ("dflash", "0.1.0")


def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all workers of a test run."""
    base = tmp_path_factory.getbasetemp()
    return (base.parent if base.name.startswith("popen-") else base) / "releases"


NO_LAYERS = "a drafter that names no layers"
SCALED = "a drafter with scales"
MADE_UP: Mapping[str, tuple[str, Mapping[str, Json]]] = {
    NO_LAYERS: (FULL, {"target_layer_ids": None}),
    SCALED: (SECOND, {"input_embedding_scale": 2.0, "output_multiplier": 0.5}),
}
"""A published drafter, and what is written into its ``dflash_config`` (None: taken out)."""


@cache
def drafter(name: str) -> Checkpoint:
    """A recorded drafter, or one of ``MADE_UP``."""
    if name not in MADE_UP:
        return pair(name)
    published, change = MADE_UP[name]
    found = pair(published)
    before = found.draft.raw["dflash_config"]
    assert isinstance(before, Mapping)
    inner = {key: value for key, value in {**before, **change}.items() if value is not None}
    draft = model_config(
        {**found.draft.raw, "dflash_config": inner},
        repo=found.draft.repo,
        revision="made up",
        source="draft",
        complete=found.draft.complete,
    )
    return read_checkpoint(draft, found.target)


@cache
def pair(draft: str) -> Checkpoint:
    """A drafter and its target as recorded in this project's snapshots."""
    config, target = _recorded(draft, "draft")
    return read_checkpoint(config, _recorded(target, "target")[0] if target else None)


def _recorded(repo: str, source: str) -> tuple[ModelConfig, str | None]:
    file = files("investigator.fixtures") / "hub" / repo.replace("/", "__") / "snapshot.json"
    record = json.loads(file.read_text(encoding="utf-8"))
    config = model_config(
        record["config"], repo=repo, revision="snapshot", source=source, complete=record["complete"]
    )
    return config, record.get("target")


@dataclass(frozen=True)
class Release:
    """The Python files of one release, and what was answered about them."""

    files: Mapping[str, bytes]
    source: Source
    reference: Tree
    parsed: ParsedFiles
    engine: str = "vllm"
    known: dict[str, dict[str, str]] = field(default_factory=dict)
    read: dict[str, list[str]] = field(default_factory=dict)
    """Draft -> the files that the answers about the release itself rest on."""

    def tree(self, changed: Mapping[str, bytes] | None = None) -> TextTree:
        """The release, or files in its place."""
        return TextTree(self.source, changed if changed is not None else self.files)

    def findings(self, draft: str, changed: Mapping[str, bytes] | None = None) -> tuple[Finding, ...]:
        """Every finding on the release (or on files in its place) with this drafter."""
        case, tree = drafter(draft), self.tree(changed)
        program = Program(tree, parsed=self.parsed)
        kind = known(self.engine)
        engine = kind.make(program, case, {})
        answers = [
            answer_of(
                engine.ask(contract, runner),
                tree,
                contract=contract,
                role=Role.ENGINE,
                agent=self.engine,
                runner=runner,
            )
            for contract, runner in kind.questions
        ]
        if changed is None:
            self.read[draft] = sorted(path for path in program.consulted if path in self.files)
        return synthesize([*answers, *self._others(case)], case)

    def verdicts(self, draft: str, changed: Mapping[str, bytes] | None = None) -> dict[str, str]:
        """``contract/runner`` -> verdict; those of the release itself are worked out once."""
        if changed is None and draft in self.known:
            return self.known[draft]
        found = {f.question: f.verdict.value for f in self.findings(draft, changed)}
        if changed is None:
            self.known[draft] = found
        return found

    def _others(self, case: Checkpoint) -> list[Answer]:
        answers = []
        for contract in CONTRACTS:
            if contract.ask_checkpoint is not None:
                outcome, _ = contract.ask_checkpoint(case)
                answers.append(
                    Answer(
                        contract=contract.id,
                        role=Role.CHECKPOINT,
                        agent="hub",
                        source="draft",
                        outcome=outcome,
                    )
                )
            if contract.id in ASKED:
                told = ask(contract.id, Program(self.reference), case)
                assert told is not None
                answers.append(
                    answer_of(
                        told, self.reference, contract=contract.id, role=Role.REFERENCE, agent="reference"
                    )
                )
        return answers


def open_release_files(version: str, workspace: Workspace, engine: str = "vllm") -> Release:
    """A release with all its Python files, fetched by ranges."""
    tree = open_release(engine, version, workspace)
    paths = [path for path in tree.paths() if path.endswith(".py")]
    tree.prefetch(paths)
    texts = {path: tree.read(path) for path in paths}
    return Release(texts, tree.source, open_release(*REFERENCE, workspace), ParsedFiles(), engine)
