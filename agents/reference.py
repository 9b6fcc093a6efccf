"""The agent that reads the references: the authors' package, and DDTree's repository.

A reference that cannot be reached is answered for by its snapshot, which holds facts only
(no code), and says so. Where two references differ on a contract, that is reported once.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import count

import anyio

from investigator.agents.interface import AgentContext, AgentResult
from investigator.agents.quoting import answer_of
from investigator.checkpoint import Checkpoint
from investigator.code.program import Program
from investigator.contracts.registry import CONTRACTS
from investigator.engines.interface import Told
from investigator.engines.registry import names
from investigator.engines.remembered import Memory, Records
from investigator.errors import InvestigateError
from investigator.events import EventKind
from investigator.methods import described
from investigator.model import Answer, Known, NotChecked, Role
from investigator.references.reading import ask
from investigator.references.recorded import RecordedReference, recorded_answer
from investigator.sources.interface import Tree
from investigator.sources.renamed_tree import RenamedTree

OpenReference = Callable[[str], Tree]
Recorded = Callable[[str], RecordedReference | None]


class ReferenceAgent:
    """Reads each reference of the case; one that cannot be had leaves the others alone."""

    def __init__(self, open_reference: OpenReference, recorded: Recorded, records: Records) -> None:
        self._open = open_reference
        self._recorded = recorded
        self._records = records

    @property
    def name(self) -> str:
        """Its name in logs, reports and answers."""
        return "reference"

    async def run(self, context: AgentContext) -> AgentResult:
        """Open the references side by side, wait for the checkpoint, put the questions.

        Raises the first error when no reference could be had.
        """
        wanted = context.case.references
        opened: dict[str, Tree | RecordedReference | InvestigateError] = {}

        async def visit(reference: str) -> None:
            opened[reference] = await anyio.to_thread.run_sync(self._have, reference, abandon_on_cancel=True)

        async with anyio.create_task_group() as group:
            for reference in wanted:
                group.start_soon(visit, reference)
        errors = {r: e for r in wanted if isinstance(e := opened[r], InvestigateError)}
        if len(errors) == len(wanted) and errors:
            raise next(iter(errors.values()))
        checkpoint = await context.checkpoint.wait()
        had = {r: o for r in wanted if not isinstance(o := opened[r], InvestigateError)}
        return await anyio.to_thread.run_sync(
            self._ask_all, context, had, errors, checkpoint, abandon_on_cancel=True
        )

    def _have(self, reference: str) -> Tree | RecordedReference | InvestigateError:
        try:
            return self._open(reference)
        except InvestigateError as error:
            recorded = self._recorded(reference)
            return recorded if recorded is not None else error

    def _ask_all(
        self,
        context: AgentContext,
        had: dict[str, Tree | RecordedReference],
        errors: dict[str, InvestigateError],
        checkpoint: Checkpoint,
    ) -> AgentResult:
        method = described(checkpoint)
        if not method.reference:
            why = f"none of the references is training code of {method.name}: its config is the promise"
            left = [NotChecked(what=f"reference {name}", why=why) for name in had]
            return AgentResult(not_checked=tuple(left))
        answers: list[Answer] = []
        trees: dict[str, Tree] = {}
        for found in _named_apart(had.values()):
            tree = found.tree if isinstance(found, RecordedReference) else found
            trees[tree.source.id] = tree
            context.event(EventKind.FETCHED, source=tree.source.id, what=tree.source.name)
            put = self._put_recorded(found, checkpoint) if found is not tree else self._put(tree, checkpoint)
            for contract, answer in put:
                context.event(EventKind.ASKED, contract=contract, source=tree.source.id)
                answers.append(
                    answer_of(answer, tree, contract=contract, role=Role.REFERENCE, agent=self.name)
                )
                known = isinstance(answer.outcome, Known)
                context.event(EventKind.ANSWERED, contract=contract, source=tree.source.id, known=known)
        return AgentResult(
            answers=tuple(answers),
            sources=tuple(tree.source for tree in trees.values()),
            trees=trees,
            not_checked=(
                *(NotChecked(what=f"reference {r}", why=_line(e)) for r, e in errors.items()),
                *_differences(answers),
            ),
            missing="; ".join(f"{r}: {e}" for r, e in errors.items()) or None,
        )

    def _put(self, tree: Tree, checkpoint: Checkpoint) -> Iterator[tuple[str, Told]]:
        memory = Memory(self._records, checkpoint, {}).of(tree)
        whole = cache(lambda: Program(tree))

        def afresh(contract: str) -> tuple[Told, dict[str, str]]:
            program = whole().view()
            found = ask(contract, program, checkpoint)
            assert found is not None
            return found, program.consulted

        for contract in CONTRACTS:
            if ask_is_possible(contract.id):
                yield contract.id, memory.told(f"reference/{contract.id}", partial(afresh, contract.id))

    @staticmethod
    def _put_recorded(found: Tree | RecordedReference, checkpoint: Checkpoint) -> Iterator[tuple[str, Told]]:
        assert isinstance(found, RecordedReference)
        for contract in CONTRACTS:
            answer = recorded_answer(found, contract.id, checkpoint)
            if answer is not None:
                yield contract.id, answer


def _named_apart(
    references: Iterable[Tree | RecordedReference],
) -> Iterator[Tree | RecordedReference]:
    """The references, each with a source id that no other source of the investigation has."""
    taken = {"draft", "target", *names()}
    for found in references:
        tree = found.tree if isinstance(found, RecordedReference) else found
        called = tree.source.id
        if called in taken or called.startswith("pr-"):  # as the pull requests' sources are called
            fresh = next(f"{called}-{n}" for n in count(2) if f"{called}-{n}" not in taken)
            tree = RenamedTree(tree, replace(tree.source, id=fresh))
        taken.add(tree.source.id)
        yield replace(found, tree=tree) if isinstance(found, RecordedReference) else tree


def ask_is_possible(contract: str) -> bool:
    """Whether training code says anything about a contract."""
    from investigator.references.reading import QUESTIONS

    return contract in QUESTIONS


def _line(error: InvestigateError) -> str:
    return f"{error} ({error.advice})" if error.advice else str(error)


def _differences(answers: Sequence[Answer]) -> Iterator[NotChecked]:
    """Where two references give different answers: verdicts rest on the first of them."""
    for contract in dict.fromkeys(answer.contract for answer in answers):
        known = [a for a in answers if a.contract == contract and isinstance(a.outcome, Known)]
        for other in known[1:]:
            if other.outcome != known[0].outcome:
                yield NotChecked(
                    what=f"{contract}: the references differ",
                    why=f"{known[0].source} and {other.source} train differently here;"
                    f" the verdict rests on {known[0].source}",
                )
                break
