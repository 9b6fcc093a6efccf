"""From what the user names to a tree: the one place that knows every kind of source of files."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from investigator.case import EngineKind, EngineSpec
from investigator.errors import IntegrityError, NotFoundError, UsageError
from investigator.events import EventSink, ignore
from investigator.sources.folder import open_folder, user_path
from investigator.sources.git_remote import open_remote
from investigator.sources.git_tree import open_local
from investigator.sources.index_page import WheelFile
from investigator.sources.installation import open_installation
from investigator.sources.interface import Tree
from investigator.sources.package_index import PackageIndex
from investigator.sources.pip_settings import PipSettings, read_pip_settings
from investigator.sources.shadow import open_shadow
from investigator.sources.store import Store
from investigator.sources.transport import NetworkPolicy, Transport
from investigator.sources.wheel import open_wheel


@dataclass(frozen=True, kw_only=True)
class Workspace:
    """What every source works with: where things are kept, how the network is reached."""

    store: Store
    transport: Transport
    pip: PipSettings
    events: EventSink = ignore

    @classmethod
    def open(
        cls, *, cache_dir: Path | None = None, offline: bool = False, events: EventSink = ignore
    ) -> "Workspace":
        """The usual workspace of this user, under pip's settings. Raises UsageError."""
        pip = read_pip_settings()
        policy = NetworkPolicy(
            offline=offline,
            ca_bundle=pip.cert,
            client_cert=pip.client_cert,
            insecure_hosts=pip.trusted_hosts,
            proxy=pip.proxy,
        )
        return cls(
            store=Store.open(cache_dir, events),
            transport=Transport(policy, events=events),
            pip=pip,
            events=events,
        )

    @property
    def offline(self) -> bool:
        """Whether the network is forbidden."""
        return self.transport.offline

    @property
    def index(self) -> PackageIndex:
        """The package index, as pip's settings name it."""
        return PackageIndex(self.pip, self.transport, self.store, self.events)

    def for_agent(self, agent: str, *, events: EventSink, seconds: float | None = None) -> "Workspace":
        """The same workspace for one agent: its own counts, events and deadline."""
        return replace(
            self,
            store=self.store.with_events(events),
            transport=self.transport.for_agent(agent, events=events, seconds=seconds),
            events=events,
        )


def recognise(spec: EngineSpec, workspace: Workspace, packages: Mapping[str, str]) -> EngineSpec:
    """The engine as named, with its name as its tree says it.

    ``packages``: each known engine's name -> its import package. A release names its engine
    itself, and the newest one is named by its version; anything else is the engine whose package is
    found there. A repository that is called like an engine is not opened to find out.
    Raises UsageError when no engine is there, or several are; OfflineError and SourceError.
    """
    if spec.kind is EngineKind.RELEASE:
        return spec
    if spec.kind is EngineKind.NEWEST:
        return replace(spec, kind=EngineKind.RELEASE, value=workspace.index.newest(spec.name).version)
    if spec.kind is EngineKind.GIT:
        called = re.sub(r"(\.git)?/*$", "", split_git(f"git:{spec.value}")[0]).rpartition("/")[2].lower()
        if called in packages:
            return replace(spec, name=called)
    found: list[str] = []
    error: UsageError | None = None
    for name, package in packages.items():
        try:
            open_engine(replace(spec, name=name), workspace, package)
            found.append(name)
        except UsageError as nothing:
            error = error or nothing
    if len(found) > 1:
        raise UsageError(
            f"{spec} holds {' and '.join(found)}", f"name one package's own folder: path:.../{found[-1]}"
        )
    if not found:
        assert error is not None
        raise error
    return replace(spec, name=found[0])


def open_engine(spec: EngineSpec, workspace: Workspace, package: str | None = None) -> Tree:
    """The engine's files. Its source's id is the engine's name (``vllm``).

    ``package``: its import package, where that is not called like the engine.
    Raises UsageError (no such release, no engine there), OfflineError, IntegrityError, SourceError.
    """
    match spec.kind:
        case EngineKind.RELEASE:
            return open_release(spec.name, spec.value, workspace)
        case EngineKind.NEWEST:
            return open_release(spec.name, workspace.index.newest(spec.name).version, workspace)
        case EngineKind.PATH:
            folder = user_path(spec.value)
            return open_shadow(folder, package or spec.name) or open_folder(folder, package or spec.name)
        case EngineKind.GIT:
            return open_git(f"git:{spec.value}", workspace, id=spec.name, package=package or spec.name)
        case EngineKind.INSTALLED:
            return open_installation(None, package or spec.name)
        case EngineKind.PYTHON:
            return open_installation(Path(spec.value), package or spec.name)


def open_release(name: str, version: str, workspace: Workspace) -> Tree:
    """The files of a release on the package index, read member by member.

    What was kept of an earlier run is believed as long as it leads to a sound wheel.
    """
    index = workspace.index
    kept = index.kept_wheel(name, version)
    if kept is not None:
        try:
            return _open_wheel(kept, name, workspace)
        except (NotFoundError, IntegrityError):
            if workspace.offline:
                raise
    return _open_wheel(index.wheel(name, version, fresh=kept is not None), name, workspace)


def _open_wheel(wheel: WheelFile, name: str, workspace: Workspace) -> Tree:
    credential = workspace.index.credential_for(wheel.url)
    return open_wheel(wheel, name, workspace.transport, workspace.store, credential)


def open_package(requirement: str, workspace: Workspace) -> Tree:
    """The files of a package named as ``dflash==0.1.0``; its source's id is the package's name."""
    name, equals, _ = requirement.partition("==")
    if not equals or ":" in name:
        raise UsageError(
            f"cannot read reference {requirement!r}",
            "write NAME==VERSION, path:DIR, git:URL@REF or github:OWNER/NAME",
        )
    spec = EngineSpec.parse(requirement)
    return open_release(spec.name, spec.value, workspace)


def open_git(spec: str, workspace: Workspace, *, id: str | None = None, package: str | None = None) -> Tree:
    """A commit of a repository, named ``git:PATH``, ``git:URL`` or ``github:OWNER/NAME``, each
    with ``@REF`` behind it or without (then ``HEAD``).

    ``id`` is its source's id, else the repository's name. With ``package`` the tree holds that
    package alone and its paths start there; without, everything.
    Raises UsageError, OfflineError, SourceError.
    """
    where, ref = split_git(spec)
    name = where.rstrip("/").removesuffix("/.git").rpartition("/")[2].removesuffix(".git").lower()
    source_id = id or name or "git"
    if "://" in where:
        return open_remote(
            where, ref, id=source_id, package=package, store=workspace.store, transport=workspace.transport
        )
    return open_local(user_path(where), ref, id=source_id, package=package)


def split_git(spec: str) -> tuple[str, str | None]:
    """Path or URL, and the ref, of ``git:PLACE[@REF]`` or ``github:OWNER/NAME[@REF]``."""
    kind, _, rest = spec.partition(":")
    if kind not in ("git", "github") or not rest:
        raise UsageError(
            f"cannot read repository {spec!r}", "write git:PATH@REF, git:URL@REF or github:OWNER/NAME"
        )
    if kind == "git" and "://" not in rest and user_path(rest).exists():
        return rest, None
    where, at, ref = rest.rpartition("@")
    found = ref if at else None
    where = where if at else rest
    if kind == "github":
        if not re.fullmatch(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", where, re.ASCII):
            raise UsageError(
                f"cannot read repository {spec!r}", "write github:OWNER/NAME or github:OWNER/NAME@REF"
            )
        where = f"{os.environ.get('GITHUB_SERVER_URL', 'https://github.com').rstrip('/')}/{where}"
    return where, found
