"""Small, complete objects of the model, so that a test names only what it is about."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256

from investigator.errors import NotFoundError
from investigator.model import (
    AgentReport,
    AgentStatus,
    Answer,
    CaseRecord,
    Evidence,
    Finding,
    Investigation,
    Known,
    NotChecked,
    Origin,
    Patch,
    PatchProof,
    PullRequest,
    PullRequestState,
    Remedy,
    RemedyKind,
    Role,
    Runner,
    Source,
    SourceKind,
    Verdict,
)

NOON = datetime(2026, 10, 1, 12, 0, tzinfo=UTC)


@dataclass(frozen=True)
class TextTree:
    """A tree of a few texts in memory."""

    source: Source
    texts: Mapping[str, str] = field(default_factory=dict)

    def paths(self) -> list[str]:
        return sorted(self.texts)

    def digest(self, path: str) -> str:
        return sha256(self.read(path)).hexdigest()

    def read(self, path: str) -> bytes:
        if path not in self.texts:
            raise NotFoundError(f"no {path} in {self.source.id}")
        return self.texts[path].encode()

    def prefetch(self, paths: object) -> None:
        """Everything is near already."""


def source(ident: str = "vllm", **changes: object) -> Source:
    made = Source(
        id=ident,
        kind=SourceKind.WHEEL,
        name=ident,
        revision="0.20.1",
        origin=Origin.LIVE,
        retrieved_at=NOON,
        sha256="ab" * 32,
        permalink="https://code.example/vllm/blob/v0.20.1/{path}#L{line}",
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def evidence(**changes: object) -> Evidence:
    made = Evidence(
        source="vllm",
        path="vllm/runner.py",
        line=2,
        end_line=2,
        quote="    return ids",
        role="ids go out unshifted",
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def finding(**changes: object) -> Finding:
    made = Finding(
        contract="target-layer-offset",
        runner=Runner.V1,
        verdict=Verdict.BROKEN,
        why="the reference maps 1 to 2, the engine maps 1 to 1",
        agents=("vllm", "reference"),
        evidence=(evidence(),),
        remedies=(
            Remedy(kind=RemedyKind.RELEASE, ref="0.22.1", effect="adds one to each id"),
            Remedy(kind=RemedyKind.PATCH, ref="0001-shift.patch", effect="adds one to each id"),
        ),
        promised="id k taps the output of decoder layer k",
        happens="id k taps the output of decoder layer k - 1",
        consequence="features come from one layer too early",
        live=True,
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def answer(**changes: object) -> Answer:
    made = Answer(
        contract="target-layer-offset",
        role=Role.ENGINE,
        agent="vllm",
        source="vllm",
        outcome=Known([1, 16, 31]),
        runner=Runner.V1,
        evidence=(evidence(),),
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def agent_report(name: str, **changes: object) -> AgentReport:
    made = AgentReport(
        name=name, status=AgentStatus.DONE, started=NOON, finished=NOON + timedelta(seconds=1.5)
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def patch(**changes: object) -> Patch:
    proof = PatchProof(applies=True, reverses=True, parses=True, repaired=("target-layer-offset/v1",))
    made = Patch(
        name="0001-shift.patch",
        contract="target-layer-offset",
        subject="Shift target layer ids by one",
        text="From 0000\nSubject: [PATCH] Shift\n\n--- a/x\n+++ b/x\n",
        files=("vllm/runner.py",),
        proof=proof,
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def investigation(**changes: object) -> Investigation:
    """One broken finding, one honoured, one unknown; a snapshot among the sources; one patch."""
    made = Investigation(
        case=CaseRecord(
            engine="vllm==0.20.1",
            draft="z-lab/Qwen3.6-27B-DFlash@main",
            target="Qwen/Qwen3.6-27B",
            references=("dflash==0.1.0",),
            pull_requests=("vllm-project/vllm#40727",),
        ),
        default_runner=Runner.V1,
        default_runner_why="the only runner of this release that knows dflash",
        sources=(
            source(),
            source(
                "draft",
                kind=SourceKind.HUB,
                name="z-lab/Qwen3.6-27B-DFlash",
                revision="main",
                origin=Origin.SNAPSHOT,
            ),
        ),
        agents=(
            agent_report("vllm"),
            agent_report("hub"),
            agent_report("pull_requests"),
            agent_report("reference"),
        ),
        answers=(answer(),),
        findings=(
            finding(),
            finding(
                contract="mask-token",
                runner=None,
                verdict=Verdict.HONOURED,
                why="both use 248070",
                remedies=(),
            ),
            finding(
                contract="rope", runner=None, verdict=Verdict.UNKNOWN, why="no reference says", evidence=()
            ),
        ),
        pull_requests=(
            PullRequest(
                ref="vllm-project/vllm#40727",
                title="Update dflash aux layer indexing",
                state=PullRequestState.MERGED,
                source="github",
                merged_at=datetime(2026, 5, 20, 3, 15, 57, tzinfo=UTC),
                contained=False,
                contained_why="merged after 0.20.1; the shift is not there",
            ),
        ),
        patches=(patch(),),
        not_checked=(NotChecked(what="pull request diffs", why="the snapshot holds none"),),
        command="investigate run --engine vllm==0.20.1",
        tool_version="0.1.0",
    )
    return replace(made, **changes)  # type: ignore[arg-type]
