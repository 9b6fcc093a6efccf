"""The agent that reads an engine: opens its tree and puts every contract's question."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property

import anyio
from packaging.version import Version

from investigator.agents.interface import AgentContext, AgentResult
from investigator.agents.quoting import answer_of
from investigator.case import EngineSpec
from investigator.checkpoint import Checkpoint
from investigator.code.program import ParsedFiles, Program
from investigator.contracts.registry import BY_ID, CONTRACTS
from investigator.engines.interface import Engine, RunnerChoice, Told
from investigator.engines.registry import EngineKnown, known, reading_code_of
from investigator.engines.remembered import Memory, Records, as_choice, as_told
from investigator.errors import InvestigateError
from investigator.events import EventKind
from investigator.model import Answer, NotChecked, NotKnown, Role, Runner, Source, SourceKind
from investigator.sources.interface import Tree

_PLATFORM = re.compile(r"(?:(?:cu|rocm|cpu|xpu)[\d.]*)?")
OpenTree = Callable[[EngineSpec], Tree]


class EngineAgent:
    """Reads one tree of one engine, every runner it has, with the checkpoint's own numbers.

    ``name``: the engine's, as the registry has it. ``parsed`` may be shared with whoever reads the
    same tree afterwards.
    """

    def __init__(
        self, name: str, open_tree: OpenTree, records: Records, parsed: ParsedFiles | None = None
    ) -> None:
        self._engine = known(name)
        self._open = open_tree
        self._records = records
        self._parsed = parsed
        self.choice: RunnerChoice | None = None
        """Which runner the case uses, once the agent has finished."""

    @property
    def name(self) -> str:
        """Its name in logs, reports and answers."""
        return self._engine.name

    async def run(self, context: AgentContext) -> AgentResult:
        """Open the tree, wait for the checkpoint, put the questions."""
        tree = await anyio.to_thread.run_sync(self._open, context.case.engine, abandon_on_cancel=True)
        context.engine.keep(tree)
        context.event(EventKind.FETCHED, source=tree.source.id, what=tree.source.name)
        try:
            checkpoint = await context.checkpoint.wait()
        except InvestigateError as error:
            return AgentResult(
                sources=(shown_at(tree.source, self._engine.lines),),
                trees={tree.source.id: tree},
                missing=f"no questions were put, since the checkpoint could not be read: {error}",
            )
        return await anyio.to_thread.run_sync(self._ask, context, tree, checkpoint, abandon_on_cancel=True)

    def _ask(self, context: AgentContext, tree: Tree, checkpoint: Checkpoint) -> AgentResult:
        searches: list[str] = []
        memory = Memory(self._records, checkpoint, context.case.deployment)
        desk = EngineDesk(self._engine, memory, tree, self._parsed, on_full_search=searches.append)
        self.choice = desk.default_runner()
        answers: list[Answer] = []
        for contract, runner in self._engine.questions:
            context.event(EventKind.ASKED, contract=contract, runner=_word(runner))
            found = desk.put(contract, runner)
            answers.append(
                answer_of(found, tree, contract=contract, role=Role.ENGINE, agent=self.name, runner=runner)
            )
            known = not isinstance(found.outcome, NotKnown)
            context.event(EventKind.ANSWERED, contract=contract, runner=_word(runner), known=known)
        for what in dict.fromkeys(searches):
            context.event(EventKind.FETCHED, source=tree.source.id, searched=what)
        return AgentResult(
            answers=tuple(answers),
            sources=(shown_at(tree.source, self._engine.lines),),
            trees={tree.source.id: tree},
            not_checked=tuple(
                NotChecked(what=f"{a.contract}{_on(a.runner)} in {tree.source.name}", why=a.outcome.reason)
                for a in answers
                if isinstance(a.outcome, NotKnown) and _needed(a.contract, checkpoint)
            )
            + tuple(
                NotChecked(
                    what=contract.id, why=f"{self.name} was not asked: nothing here reads that part of it"
                )
                for contract in CONTRACTS
                if contract.id not in {asked for asked, _ in self._engine.questions}
            )
            + tuple(_unread(self._engine, tree, context.case.environment)),
        )


def _needed(contract: str, checkpoint: Checkpoint) -> bool:
    """Whether a checkpoint needs a promise at all: what it does not need may stay unknown."""
    known = BY_ID.get(contract)
    return known is None or known.applies(checkpoint) is None


class EngineDesk:
    """Puts questions about the checkpoint of ``memory`` to one tree of an engine, kept answers first.

    ``parsed`` may be shared by desks for trees that hold mostly the same files.
    """

    def __init__(
        self,
        engine: EngineKnown,
        memory: Memory,
        tree: Tree,
        parsed: ParsedFiles | None = None,
        on_full_search: Callable[[str], None] | None = None,
    ) -> None:
        self._engine = engine
        self._memory = memory
        self._remembered = memory.of(tree)
        self._tree = tree
        self._parsed = parsed
        self._on_full_search = on_full_search

    def default_runner(self) -> RunnerChoice:
        """Which runner the case uses."""
        return as_choice(self._ask("runner-choice", lambda engine: as_told(engine.default_runner())))

    def put(self, contract: str, runner: Runner | None) -> Told:
        """One contract's question on one runner."""
        return self._ask(f"{contract}/{_word(runner)}", lambda engine: engine.ask(contract, runner))

    def every(self) -> Iterator[tuple[str, Runner | None, Told]]:
        """Every question that the engine can be asked, with its answer."""
        for contract, runner in self._engine.questions:
            yield contract, runner, self.put(contract, runner)

    def _ask(self, question: str, put: Callable[[Engine], Told]) -> Told:
        """Any question, under a name of its own."""

        def afresh() -> tuple[Told, dict[str, str]]:
            program = self._program.view()
            found = put(self._engine.make(program, self._memory.checkpoint, self._memory.deployment))
            return found, program.consulted

        name = f"{self._engine.name}{reading_code_of(self._engine.name)}/{question}"
        return self._remembered.told(name, afresh)

    @cached_property
    def _program(self) -> Program:
        """The tree to follow values in, its likely files near; made when a question is asked anew."""
        self._tree.prefetch(self._engine.hints)
        return Program(self._tree, parsed=self._parsed, on_full_search=self._on_full_search)


def shown_at(source: Source, lines: str | None) -> Source:
    """A release's source with the address of its lines; others keep theirs.

    A build between releases has no tag, and one that somebody gave a name of his own need not be the
    tag's code; a build for one platform (``+cu129``) is.
    """
    if lines is None or source.kind is not SourceKind.WHEEL or source.permalink is not None:
        return source
    version = Version(source.revision)
    if version.is_devrelease or not _PLATFORM.fullmatch(version.local or ""):
        return source
    return replace(source, permalink=lines.replace("{version}", version.public))


def _unread(engine: EngineKnown, tree: Tree, environment: Mapping[str, str]) -> Iterator[NotChecked]:
    """The engine's own variables in the deployment that its list of them does not name."""
    own = [name for name in environment if name.startswith(f"{engine.name.upper()}_")]
    if not own or engine.variables not in tree.paths():
        return
    listed = tree.read(engine.variables).decode("utf-8", "replace")
    for name in own:
        if not re.search(rf"\b{re.escape(name)}\b", listed):
            why = f"{engine.variables}, which lists the variables of {tree.source.name}, does not have it"
            yield NotChecked(what=f"what {name} does", why=why)


def _word(runner: Runner | None) -> str | None:
    return runner.value if runner else None


def _on(runner: Runner | None) -> str:
    return f" on runner {runner.value}" if runner else ""
