"""The words of the house: sources, evidence, answers, findings.

Everything here is frozen, holds no behaviour beyond its own shape, and can be written as
JSON by :mod:`investigator.reports.json_report`. Nothing here imports anything else of this
project, so every room may import it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]
"""A value in common terms: what answers are made of."""


class Verdict(StrEnum):
    """How an engine stands to one promise. Order: worst news first."""

    BROKEN = "broken"
    PARTIAL = "partial"
    REFUSED = "refused"
    UNSUPPORTED = "unsupported"
    UNKNOWN = "unknown"
    NOT_APPLICABLE = "not-applicable"
    HONOURED = "honoured"


class Role(StrEnum):
    """Which of the four kinds of source an answer speaks for."""

    REFERENCE = "reference"
    CHECKPOINT = "checkpoint"
    ENGINE = "engine"
    PULL_REQUEST = "pull-request"


class Runner(StrEnum):
    """vLLM's model runner. An engine with one runner has answers with ``runner=None``."""

    V1 = "v1"
    V2 = "v2"


class SourceKind(StrEnum):
    """What sort of place a text came from."""

    WHEEL = "wheel"
    FOLDER = "folder"
    GIT = "git"
    INSTALLATION = "installation"
    HUB = "hub"
    GITHUB = "github"


class Origin(StrEnum):
    """How fresh a source is: fetched in this run, kept from an earlier one, or recorded."""

    LIVE = "live"
    CACHE = "cache"
    SNAPSHOT = "snapshot"
    LOCAL = "local"


@dataclass(frozen=True, kw_only=True)
class Source:
    """One place that text came from.

    ``id`` is short and unique within an investigation (``vllm``, ``draft``, ``dflash``);
    evidence points at it. ``revision`` is a version, a commit or a Hub revision.
    ``sha256`` is the hash of the whole artefact where the source vouches for one.
    ``permalink`` is a URL pattern with ``{path}`` and ``{line}``, where the source has one.
    ``released_at``: when this revision came into the world, where the source says so: a release
    was uploaded, a commit was made. Unlike ``retrieved_at`` it is the same in every run.
    """

    id: str
    kind: SourceKind
    name: str
    revision: str
    origin: Origin
    retrieved_at: datetime
    sha256: str | None = None
    permalink: str | None = None
    note: str | None = None
    released_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """Lines of one file of one source: what a claim rests on.

    ``line`` and ``end_line`` count from 1, both inclusive. ``quote`` is the text of those
    lines (at most three), without its line ends; it is read again from the source before
    it is printed. ``role`` says in a few words what these lines do in the argument.
    ``recorded_from``: ``path:line`` of the source at its revision, where the lines quoted are those
    of a record that was made of it.
    """

    source: str
    path: str
    line: int
    end_line: int
    quote: str
    role: str = ""
    recorded_from: str = ""


@dataclass(frozen=True)
class Known:
    """The source was asked and this is its answer, in the contract's common terms."""

    value: Json


@dataclass(frozen=True)
class Refused:
    """The engine stops with an error that names the reason."""

    error: str
    """Exception class and message, as the engine would show them."""


@dataclass(frozen=True)
class Unsupported:
    """There is no such method on this path."""

    reason: str


@dataclass(frozen=True)
class NotKnown:
    """Asked and not decided; ``reason`` says why, in one line."""

    reason: str


Outcome = Known | Refused | Unsupported | NotKnown


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What one agent's source says about one contract.

    ``contract``: the contract's id. ``runner``: set where the engine's path differs by
    runner. ``evidence`` is in the order in which the value travels.
    ``assumptions`` are the facts taken for granted (one GPU, no pipeline parallelism, ...).
    """

    contract: str
    role: Role
    agent: str
    source: str
    outcome: Outcome
    runner: Runner | None = None
    evidence: tuple[Evidence, ...] = ()
    assumptions: tuple[str, ...] = ()
    note: str = ""
    live: bool | None = None
    """Engine answers: whether the case's default settings run into this path; None: not asked."""


class RemedyKind(StrEnum):
    """What sort of thing repairs a fault."""

    PATCH = "patch"
    PULL_REQUEST = "pull-request"
    RELEASE = "release"
    SETTING = "setting"


@dataclass(frozen=True, kw_only=True)
class Remedy:
    """One way out. ``ref`` is a file, ``owner/repo#N``, a version, or the exact flag."""

    kind: RemedyKind
    ref: str
    effect: str


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The verdict on one contract (on one runner), and why.

    ``promised`` / ``happens``: the two sides in one sentence each. ``consequence``: what it
    costs. ``agents``: whose answers were compared, at least two unless the verdict is
    ``unknown``. ``live``: whether this case's default settings run into it; ``None`` when
    that is not known.
    """

    contract: str
    runner: Runner | None
    verdict: Verdict
    why: str
    agents: tuple[str, ...]
    evidence: tuple[Evidence, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    promised: str = ""
    happens: str = ""
    consequence: str = ""
    live: bool | None = None

    @property
    def question(self) -> str:
        """The name of the question that it answers."""
        return question_name(self.contract, self.runner)


def question_name(contract: str, runner: Runner | None) -> str:
    """``contract/runner``, or ``contract`` where the runners do not differ."""
    return f"{contract}/{runner.value}" if runner else contract


def contract_of(question: str) -> str:
    """The contract of a question's name."""
    return question.partition("/")[0]


class AgentStatus(StrEnum):
    """``partial``: some of its questions stayed unanswered."""

    DONE = "done"
    PARTIAL = "partial"
    FAILED = "failed"


@dataclass(frozen=True, kw_only=True)
class AgentReport:
    """How one agent fared. ``error`` is one line and names what to do."""

    name: str
    status: AgentStatus
    started: datetime
    finished: datetime
    error: str | None = None


class PullRequestState(StrEnum):
    """GitHub says only open or closed; a merged pull request is its own state here."""

    OPEN = "open"
    MERGED = "merged"
    CLOSED = "closed"


@dataclass(frozen=True, kw_only=True)
class PullRequest:
    """What a pull request is, and how the engine under investigation stands to it.

    ``ref`` is ``owner/repo#N``. ``contained``: whether this engine already holds its
    change; ``None`` when that could not be decided (``contained_why`` says why or how).
    ``repairs``: ids of the contracts that its change is known to repair. ``effect``: what
    it does, in this project's words. ``commands``: what puts it on an engine, to paste.
    """

    ref: str
    title: str
    state: PullRequestState
    source: str
    files: tuple[str, ...] = ()
    merged_at: datetime | None = None
    contained: bool | None = None
    contained_why: str = ""
    relations: tuple[str, ...] = ()
    repairs: tuple[str, ...] = ()
    effect: str = ""
    commands: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class PatchProof:
    """What was run to show that a patch holds; every field is something that was seen."""

    applies: bool
    reverses: bool
    parses: bool
    repaired: tuple[str, ...]
    """``contract/runner`` that answer ``honoured`` on the patched tree."""
    worse: tuple[str, ...] = ()
    """``contract/runner`` whose verdict got worse; a patch with any is not written."""
    eased: tuple[str, ...] = ()
    """``contract/runner`` that were ``broken`` and are ``partial`` on the patched tree."""


@dataclass(frozen=True, kw_only=True)
class Patch:
    """One git-am-able repair for one contract. ``text`` is the whole file."""

    name: str
    contract: str
    subject: str
    text: str
    files: tuple[str, ...]
    proof: PatchProof


@dataclass(frozen=True, kw_only=True)
class NotChecked:
    """Something a reader might expect to have been looked at, and why it was not."""

    what: str
    why: str


@dataclass(frozen=True, kw_only=True)
class CaseRecord:
    """The case as it was run, with revisions pinned (``case`` in investigation.json)."""

    engine: str
    draft: str
    target: str | None
    references: tuple[str, ...] = ()
    pull_requests: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    """Engine environment variables that the findings hold for."""
    flags: Mapping[str, str] = field(default_factory=dict)
    """Server flags that the findings hold for; a switch has the value ""."""
    method: str | None = None
    """The speculative method; None when the drafter's config could not be read."""


@dataclass(frozen=True, kw_only=True)
class Investigation:
    """Everything one run found."""

    case: CaseRecord
    default_runner: Runner | None
    default_runner_why: str
    sources: tuple[Source, ...]
    agents: tuple[AgentReport, ...]
    answers: tuple[Answer, ...]
    findings: tuple[Finding, ...]
    pull_requests: tuple[PullRequest, ...] = ()
    patches: tuple[Patch, ...] = ()
    not_checked: tuple[NotChecked, ...] = ()
    command: str = ""
    tool_version: str = ""
    extra: Mapping[str, Json] = field(default_factory=dict)
