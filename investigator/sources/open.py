"""From what the user names to a tree: the one place that knows every kind of source of files."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from investigator.case import EngineKind, EngineSpec
from investigator.errors import UsageError
from investigator.events import EventSink, ignore
from investigator.sources.folder import open_folder
from investigator.sources.interface import Tree
from investigator.sources.package_index import PackageIndex
from investigator.sources.pip_settings import PipSettings, read_pip_settings
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


def open_engine(spec: EngineSpec, workspace: Workspace) -> Tree:
    """The engine's files. Its source's id is the engine's name (``vllm``).

    Raises UsageError (no such release, no engine there), OfflineError, IntegrityError, SourceError.
    """
    openers: dict[EngineKind, Callable[[], Tree]] = {
        EngineKind.RELEASE: lambda: open_release(spec.name, spec.value, workspace),
        EngineKind.PATH: lambda: open_folder(Path(spec.value), spec.name),
    }
    try:
        opener = openers[spec.kind]
    except KeyError:
        raise UsageError(
            f"{spec}: this kind of engine cannot be opened yet", "use NAME==VERSION or path:"
        ) from None
    return opener()


def open_release(name: str, version: str, workspace: Workspace) -> Tree:
    """The files of a release on the package index, read member by member."""
    index = workspace.index
    wheel = index.wheel(name, version)
    return open_wheel(wheel, name, workspace.transport, workspace.store, index.credential_for(wheel.url))


def open_package(requirement: str, workspace: Workspace) -> Tree:
    """The files of a package named as ``dflash==0.1.0``; its source's id is the package's name."""
    spec = EngineSpec.parse(requirement)
    if spec.kind is not EngineKind.RELEASE:
        raise UsageError(f"cannot read package {requirement!r}", "write NAME==VERSION")
    return open_release(spec.name, spec.value, workspace)
