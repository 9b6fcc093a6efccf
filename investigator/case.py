"""What is investigated: engine, drafter, target, references, pull requests."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from investigator.errors import UsageError

DEFAULT_ENGINE = "vllm==0.20.1"
DEFAULT_DRAFT = "z-lab/Qwen3.6-27B-DFlash"
DEFAULT_PULL_REQUESTS = ("vllm-project/vllm#40727", "vllm-project/vllm#40898")
DEFAULT_REFERENCES = ("dflash==0.1.0", "github:liranringel/ddtree")


class EngineKind(StrEnum):
    """Where an engine's files are taken from."""

    RELEASE = "release"
    NEWEST = "newest"
    PATH = "path"
    GIT = "git"
    INSTALLED = "installed"
    PYTHON = "python"


_RELEASE = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)==(?P<version>[A-Za-z0-9][A-Za-z0-9.!+_-]*)\Z")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\Z")
_SECRET = re.compile(r"://[^/]*@")
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASS", re.IGNORECASE)
_REPO = re.compile(r"(?P<id>[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)(?:@(?P<revision>[\w./-]+))?\Z")


@dataclass(frozen=True)
class EngineSpec:
    """An engine as the user names it.

    ``vllm==0.20.1`` (a release on the package index), ``vllm`` (its newest one), ``path:DIR``,
    ``git:URL-or-PATH@REF``, ``installed`` (this environment), ``python:/path/to/python`` (that
    environment). ``value`` is the version, the folder, the URL with its ref, or the interpreter;
    empty for the newest release and this environment.
    """

    kind: EngineKind
    value: str
    name: str = "vllm"

    @classmethod
    def parse(cls, text: str) -> "EngineSpec":
        """Read the user's spelling. Raises UsageError."""
        if match := _RELEASE.match(text):
            return cls(EngineKind.RELEASE, match["version"], match["name"].lower())
        refuse_secrets(text)
        head, colon, rest = text.partition(":")
        if colon and rest and head in ("path", "git", "python"):
            return cls(EngineKind(head), rest)
        if text == "installed":
            return cls(EngineKind.INSTALLED, "")
        if _NAME.match(text):
            return cls(EngineKind.NEWEST, "", text.lower())
        raise UsageError(
            f"cannot read engine {text!r}",
            "write NAME==VERSION, NAME, path:DIR, git:URL@REF, installed, or python:/path/to/python",
        )

    def __str__(self) -> str:
        match self.kind:
            case EngineKind.RELEASE:
                return f"{self.name}=={self.value}"
            case EngineKind.NEWEST:
                return self.name
            case EngineKind.INSTALLED:
                return "installed"
            case _:
                return f"{self.kind.value}:{self.value}"


def refuse_secrets(text: str) -> None:
    """Raises UsageError for an address that holds a user name or a password, without showing it."""
    if _SECRET.search(text):
        raise UsageError(
            "an address with a user name or a password in it is not taken",
            "write git:https://host/owner/name@REF, or clone it yourself and give git:PATH@REF",
        )


def names_a_secret(variable: str) -> bool:
    """Whether an environment variable's value is kept from anything that is written."""
    return _SECRET_NAME.search(variable) is not None


def refuse_secret_variables(names: Iterable[str]) -> None:
    """Raises UsageError for a variable that is named like a secret, without its value."""
    for name in filter(names_a_secret, names):
        raise UsageError(
            f"{name} would be written into the results",
            "leave it out: only variables by which an engine chooses its path are needed",
        )


@dataclass(frozen=True)
class RepoSpec:
    """A Hub repository, or a local folder or ``config.json`` (``path`` set, ``id`` its name)."""

    id: str
    revision: str | None = None
    path: str | None = None

    @classmethod
    def parse(cls, text: str) -> "RepoSpec":
        """Read ``owner/name``, ``owner/name@revision`` or ``path:FILE-OR-DIR``. Raises UsageError."""
        if text.startswith("path:") and len(text) > len("path:"):
            path = text.removeprefix("path:")
            return cls(id=path, path=path)
        if match := _REPO.match(text):
            return cls(match["id"], match["revision"])
        raise UsageError(
            f"cannot read model repository {text!r}",
            "write owner/name, owner/name@revision, or path:DIR for a local config.json",
        )

    def __str__(self) -> str:
        if self.path is not None:
            return f"path:{self.path}"
        return f"{self.id}@{self.revision}" if self.revision else self.id


@dataclass(frozen=True)
class Case:
    """One investigation. ``target`` None means: the one the drafter's snapshot or card names.

    ``method``: the speculative method, where its user names it: ``mtp`` takes the model that
    ``draft`` names for a drafter of its own. None: what the drafter's config says.
    """

    engine: EngineSpec
    draft: RepoSpec
    target: RepoSpec | None = None
    references: tuple[str, ...] = DEFAULT_REFERENCES
    pull_requests: tuple[str, ...] = DEFAULT_PULL_REQUESTS
    block_size: int | None = None
    method: str | None = None
    environment: dict[str, str] = field(default_factory=dict)
    """Engine environment variables that the deployment sets (``VLLM_USE_V2_MODEL_RUNNER``)."""
    flags: dict[str, str] = field(default_factory=dict)
    """Server flags that the deployment sets (``--attention-backend``); a switch has the value ""."""

    def __post_init__(self) -> None:
        """Raises UsageError for what would put a secret into the report: a reference whose address
        holds a password, an environment variable that is named like one."""
        for reference in self.references:
            refuse_secrets(reference)
        refuse_secret_variables((*self.environment, *self.flags))

    @property
    def deployment(self) -> dict[str, str]:
        """Everything that the deployment sets, as an engine's answers take it: flags by ``--name``."""
        return {**self.environment, **self.flags}
