"""The agent that looks at pull requests: what each is, and what it does to this engine."""

import functools

import anyio

from investigator.agents.interface import AgentContext, AgentResult
from investigator.agents.quoting import not_live
from investigator.errors import InvestigateError, UsageError
from investigator.events import EventKind
from investigator.model import NotChecked, PullRequest, PullRequestState
from investigator.sources.github import FetchedPullRequest, PullRequestRef, PullRequestSource
from investigator.sources.hub import with_advice

CONCURRENT = 4


class PullRequestsAgent:
    """Fetches each pull request of the case; one that cannot be had leaves the others alone."""

    def __init__(self, source: PullRequestSource) -> None:
        self._source = source

    @property
    def name(self) -> str:
        """Its name in logs, reports and answers."""
        return "pull_requests"

    async def run(self, context: AgentContext) -> AgentResult:
        """Fetch them side by side. Raises the first error when none could be had."""
        refs = [PullRequestRef.parse(text) for text in dict.fromkeys(context.case.pull_requests)]
        numbers = [ref.number for ref in refs]
        source_ids = {
            ref: f"pr-{ref.number}" if numbers.count(ref.number) == 1 else f"pr-{ref.repo}-{ref.number}"
            for ref in refs
        }
        limiter = anyio.CapacityLimiter(CONCURRENT)
        outcomes: dict[PullRequestRef, FetchedPullRequest | InvestigateError] = {}

        async def visit(ref: PullRequestRef) -> None:
            try:
                outcomes[ref] = await self._fetch(context, ref, source_ids[ref], limiter)
            except InvestigateError as error:
                outcomes[ref] = error

        async with anyio.create_task_group() as group:
            for ref in refs:
                group.start_soon(visit, ref)

        fetched = [item for ref in refs if isinstance(item := outcomes[ref], FetchedPullRequest)]
        wrong = next((item for item in outcomes.values() if isinstance(item, UsageError)), None)
        failed = {ref: item for ref in refs if isinstance(item := outcomes[ref], InvestigateError)}
        if failed and (wrong or not fetched):
            raise wrong or next(iter(failed.values()))
        return AgentResult(
            sources=tuple(item.tree.source for item in fetched),
            trees={item.tree.source.id: item.tree for item in fetched},
            pull_requests=tuple(_record(item) for item in fetched),
            not_checked=(
                *(NotChecked(what=f"pull request {ref}", why=with_advice(e)) for ref, e in failed.items()),
                *not_live("GitHub itself", {str(item.ref): item.not_live for item in fetched}),
            ),
            missing="; ".join(f"{ref}: {error}" for ref, error in failed.items()) or None,
        )

    async def _fetch(
        self, context: AgentContext, ref: PullRequestRef, source_id: str, limiter: anyio.CapacityLimiter
    ) -> FetchedPullRequest:
        context.event(EventKind.ASKED, source=source_id, what=str(ref))
        item = await anyio.to_thread.run_sync(
            functools.partial(self._source.fetch, ref, source_id), abandon_on_cancel=True, limiter=limiter
        )
        source = item.tree.source
        context.event(
            EventKind.FETCHED,
            source=source_id,
            what=str(ref),
            revision=source.revision,
            origin=source.origin.value,
            bytes=sum(len(item.tree.read(path)) for path in item.tree.paths()),
            notes=list(item.notes),
        )
        return item


def _record(item: FetchedPullRequest) -> PullRequest:
    """What is said about it; whether the engine holds it is for the synthesizer to say."""
    facts = item.facts
    return PullRequest(
        ref=facts.ref,
        title=facts.title,
        state=PullRequestState(facts.state),
        source=item.tree.source.id,
        files=tuple(change.path for change in facts.files),
        merged_at=facts.merged_at,
        contained=None,
        contained_why="not compared yet",
        relations=tuple(f"{kind} {other}" for kind, other in facts.relations),
        repairs=facts.repairs,
        effect=facts.effect,
    )
