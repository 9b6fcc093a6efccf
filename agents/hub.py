"""The agent that reads the checkpoint: the drafter's and the target's configs."""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import anyio

from investigator.agents.interface import AgentContext, AgentResult
from investigator.agents.quoting import answer_of, not_live
from investigator.case import RepoSpec
from investigator.checkpoint import MTP_OWN, Checkpoint
from investigator.checkpoints import key_lines, read_checkpoint, target_layers
from investigator.code.program import Program
from investigator.errors import InvestigateError, UsageError
from investigator.events import EventKind
from investigator.model import Answer, Evidence, Known, NotChecked, Outcome, Role
from investigator.references.reading import ask
from investigator.sources.hub import SHAPES, FetchedModel, HubSource

DRAFT = "draft"
TARGET = "target"
MOST_LINES = 3
TARGET_KEY = "target:"
"""A key that a contract names with this prefix stands in the target's config."""

AskCheckpoint = Callable[[Checkpoint], tuple[Outcome, tuple[str, ...]]]


class CheckpointQuestion(Protocol):
    """What a contract asks of a checkpoint: an outcome, and the dotted config keys it rests on."""

    @property
    def id(self) -> str:
        """The contract's id."""
        ...

    @property
    def ask_checkpoint(self) -> AskCheckpoint | None:
        """The question; None when the contract asks the checkpoint nothing."""
        ...


class HubAgent:
    """Fetches the configs, keeps the checkpoint for the others, and answers for it."""

    def __init__(self, source: HubSource, contracts: Sequence[CheckpointQuestion]) -> None:
        self._source = source
        self._contracts = tuple(contracts)

    @property
    def name(self) -> str:
        """Its name in logs, reports and answers."""
        return "hub"

    async def run(self, context: AgentContext) -> AgentResult:
        """Fetch both configs and answer every contract's question to the checkpoint.

        Raises what the drafter's config raises; a target that cannot be had only leaves
        its part unknown.
        """
        draft = await self._fetch(context, context.case.draft, DRAFT)
        method = context.case.method
        own_target = read_checkpoint(draft.config, method=method).layout == MTP_OWN
        named = RepoSpec(id=draft.target) if draft.target else None
        # A model that drafts for itself is its own target, whatever model its card says it was made of.
        spec = context.case.target or (context.case.draft if own_target else named)
        target, missing = None, None
        if spec is None:
            missing = "neither the drafter's card nor its snapshot names the target: give it with --target"
        else:
            try:
                target = await self._fetch(context, spec, TARGET)
            except UsageError:
                raise
            except InvestigateError as error:
                missing = f"the target's config ({spec}): {error}"
        own = read_checkpoint(draft.config, target.config if target else None, method=method)
        checkpoint = replace(own, block_size=context.case.block_size or own.block_size)
        context.checkpoint.keep(checkpoint)

        fetched = {DRAFT: draft} | ({TARGET: target} if target else {})
        own_code = await anyio.to_thread.run_sync(
            self._of_own_code, draft, checkpoint, abandon_on_cancel=True
        )
        return AgentResult(
            answers=(*self._answers(context, checkpoint, fetched), *own_code),
            sources=tuple(model.tree.source for model in fetched.values()),
            trees={name: model.tree for name, model in fetched.items()},
            not_checked=(
                *_other_block_size(own, checkpoint),
                *_not_checked(checkpoint, draft, target, missing, spec),
            ),
            missing=missing,
        )

    async def _fetch(self, context: AgentContext, spec: RepoSpec, source_id: str) -> FetchedModel:
        model = await anyio.to_thread.run_sync(
            functools.partial(self._source.fetch, spec, source_id, shapes=source_id == DRAFT),
            abandon_on_cancel=True,
        )
        size = sum(len(model.tree.read(path)) for path in model.tree.paths())
        source = model.tree.source
        context.event(
            EventKind.FETCHED,
            source=source_id,
            what=str(spec),
            revision=source.revision,
            origin=source.origin.value,
            bytes=size,
            notes=list(model.notes),
        )
        return model

    def _answers(
        self, context: AgentContext, checkpoint: Checkpoint, fetched: dict[str, FetchedModel]
    ) -> list[Answer]:
        answers = []
        for contract in self._contracts:
            if contract.ask_checkpoint is None:
                continue
            context.event(EventKind.ASKED, contract=contract.id)
            outcome, keys = contract.ask_checkpoint(checkpoint)
            answers.append(
                Answer(
                    contract=contract.id,
                    role=Role.CHECKPOINT,
                    agent=self.name,
                    source=DRAFT,
                    outcome=outcome,
                    evidence=tuple(quote_keys(keys, fetched)),
                    note="; ".join(_rewrites_of(keys, fetched[DRAFT])),
                )
            )
            context.event(EventKind.ANSWERED, contract=contract.id, known=isinstance(outcome, Known))
        return answers

    def _of_own_code(self, draft: FetchedModel, checkpoint: Checkpoint) -> list[Answer]:
        """What the drafter's own modeling files say, as one more reference; they are never run.

        Only what they decide is answered: a checkpoint need not ship code at all.
        """
        if not _modules(draft) & set(draft.tree.paths()):
            return []
        program = Program(draft.tree)
        told = ((contract.id, ask(contract.id, program, checkpoint)) for contract in self._contracts)
        return [
            answer_of(found, draft.tree, contract=contract, role=Role.REFERENCE, agent=self.name)
            for contract, found in told
            if found is not None and isinstance(found.outcome, Known)
        ]


def quote_keys(keys: Sequence[str], fetched: dict[str, FetchedModel]) -> list[Evidence]:
    """The config lines that hold ``keys``, in their order; a key that no line holds is left out.

    A key is dotted (``dflash_config.block_size``); when it does not stand there as written
    but exactly one nested key ends with it, that one is meant.
    """
    found: list[Evidence] = []
    texts: dict[str, tuple[list[str], dict[str, tuple[int, int]]]] = {}
    for key in keys:
        source_id = TARGET if key.startswith(TARGET_KEY) else DRAFT
        model = fetched.get(source_id)
        if model is None:
            continue
        if source_id not in texts:
            text = model.tree.read(model.config_path).decode("utf-8", errors="replace")
            spans = {name: (at.line, at.end_line) for name, at in key_lines(text).items()}
            texts[source_id] = text.split("\n"), spans
        lines, spans = texts[source_id]
        name = _find_key(key.removeprefix(TARGET_KEY), spans)
        if name is None:
            continue
        line, end = spans[name]
        end = min(end, line + MOST_LINES - 1)
        found.append(
            Evidence(
                source=source_id,
                path=model.config_path,
                line=line,
                end_line=end,
                quote="\n".join(part.removesuffix("\r") for part in lines[line - 1 : end]),
                role=f"{name} of the {'target' if source_id == TARGET else 'drafter'}",
            )
        )
    return found


def _find_key(key: str, spans: dict[str, tuple[int, int]]) -> str | None:
    if key in spans:
        return key
    nested = [name for name in spans if name.endswith(f".{key}")]
    return nested[0] if len(nested) == 1 else None


def _rewrites_of(keys: Sequence[str], draft: FetchedModel) -> list[str]:
    """What Hugging Face's config class did to any of these keys."""
    names = {key.rpartition(".")[2] for key in keys}
    return [text for text in draft.config.rewrites if any(name in text for name in names)]


def _other_block_size(own: Checkpoint, asked: Checkpoint) -> list[NotChecked]:
    """Says so where the case names another block size than the drafter's."""
    if own.block_size in (None, asked.block_size):
        return []
    why = f"the case names {asked.block_size} tokens a block; what it would be with the drafter's is open"
    return [NotChecked(what=f"the drafter's own block size, {own.block_size}", why=why)]


def _not_checked(
    checkpoint: Checkpoint,
    draft: FetchedModel,
    target: FetchedModel | None,
    missing: str | None,
    spec: RepoSpec | None,
) -> list[NotChecked]:
    """What a reader might take for granted and was not looked at."""
    left: list[NotChecked] = []
    if target is None:
        left.append(NotChecked(what="the target's config", why=missing or ""))
    left += not_live("the Hub itself", {m.config.repo: m.not_live for m in (draft, target) if m is not None})
    for model in (draft, target):
        again = model is target and target is not None and target.config.repo == draft.config.repo
        if model is not None and not model.config.complete and not again:
            why = "the snapshot holds only some of the file's keys; a key it lacks is unknown, not absent"
            left.append(NotChecked(what=f"keys that the snapshot of {model.config.repo} lacks", why=why))
    layers = target_layers(target.config if target else None)
    if layers is not None and checkpoint.num_target_layers not in (None, layers):
        why = f"the drafter was trained for {checkpoint.num_target_layers} layers, {spec} has {layers}"
        left.append(NotChecked(what="whether drafter and target belong together", why=why))
    left += _modeling_files(draft)
    if SHAPES not in draft.tree.paths():
        why = f"the safetensors header was not read ({draft.tree.source.origin.value} source)"
        left.append(NotChecked(what="the shapes of the drafter's weights", why=why))
    return left


def _modeling_files(model: FetchedModel) -> list[NotChecked]:
    """Code that ``auto_map`` names and the source does not hold."""
    absent = sorted(_modules(model) - set(model.tree.paths()))
    why = model.card.get("modeling_code", f"auto_map names it; {model.config.repo} holds no such file here")
    return [NotChecked(what=f"the drafter's modeling file {name[:80]}", why=why) for name in absent]


def _modules(model: FetchedModel) -> set[str]:
    """The files that ``auto_map`` names."""
    auto_map = model.config.raw.get("auto_map")
    named = auto_map.values() if isinstance(auto_map, Mapping) else ()
    return {f"{str(name).rpartition('--')[2].partition('.')[0]}.py" for name in named}
