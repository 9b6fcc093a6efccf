"""Releases on the package index, as pip's settings on this machine name it.

Every index that pip would ask is asked (``index-url``, ``extra-index-url``, ``find-links``;
HTTP(S) or ``file:``), through the simple API alone, in JSON or HTML. No host is written down
here: with nothing set, pypi-simple's own default is used.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import SplitResult, unquote, urlsplit

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from investigator.errors import NotFoundError, OfflineError, SourceError, UsageError
from investigator.events import Event, EventKind, EventSink, ignore
from investigator.model import Json
from investigator.sources.index_page import (
    WheelFile,
    file_page,
    find_links,
    parse_page,
    public,
    wheel_from_json,
    wheel_to_json,
)
from investigator.sources.pip_settings import PipSettings
from investigator.sources.store import Store
from investigator.sources.transport import Credential, Transport
from investigator.sources.web import basic_credential, why_not, without_credentials

DEFAULT = "default"
"""Stands for the index that pip asks when no setting names one."""

LISTING_AGE = timedelta(hours=6)
"""How long a kept list of a project's files stands for the index's own, when online."""

LISTING_LIMIT = 16 * 1024 * 1024
"""Bytes of one project page."""


@dataclass(frozen=True, kw_only=True)
class Release:
    """One version with at least one wheel. ``yanked``: why, when all its wheels are yanked."""

    version: str
    wheels: tuple[WheelFile, ...]
    uploaded: datetime | None
    yanked: str | None

    @property
    def prerelease(self) -> bool:
        """Whether this is an alpha, beta, release candidate or development release."""
        return Version(self.version).is_prerelease

    def best_wheel(self) -> WheelFile:
        """The wheel to read: not yanked, for x86-64 Linux where there is one, highest build.

        The Python files are the same in all of them; the choice only has to be stable, and to
        be the one that most deployments install.
        """
        return max(self.wheels, key=_preference)


class PackageIndex:
    """The indexes that pip's settings name, seen as one."""

    def __init__(
        self, settings: PipSettings, transport: Transport, store: Store, events: EventSink = ignore
    ) -> None:
        self._settings = settings
        self._transport = transport
        self._store = store
        self._events = events

    def releases(self, name: str) -> tuple[Release, ...]:
        """Every release of ``name`` that has a wheel, oldest version first.

        Raises UsageError when no index knows the project, OfflineError, SourceError.
        """
        return _by_version(self._listing(name, fresh=False).files)

    def release(self, name: str, version: str, *, fresh: bool = False) -> Release:
        """The release of exactly this version; with ``fresh``, by a list that is fetched now.

        Raises UsageError, naming the nearest ones; OfflineError when the list that was kept may
        be too old to know it; SourceError when an index that may have it does not answer.
        """
        wanted = _version(version, name)
        listing = self._listing(name, fresh=fresh)
        found = _find(listing, wanted)
        if found is None and listing.kept and not self._transport.offline:
            listing = self._listing(name, fresh=True)
            found = _find(listing, wanted)
        if found is not None:
            return found
        if listing.failures:
            raise listing.failures[0]
        nearest = nearest_releases(_by_version(listing.files), wanted)
        if listing.kept:
            raise OfflineError(
                f"{name}=={version} is not in the list that was kept, and this run is offline",
                f"run without --offline to see whether it is there by now; {nearest}",
            )
        raise UsageError(f"there is no release {name}=={version} with a wheel", nearest)

    def newest(self, name: str) -> Release:
        """The newest release that pip would install: none before its final one, and none yanked.

        Raises UsageError when there is none, and as :meth:`releases` does.
        """
        releases = self.releases(name)
        final = [release for release in releases if not release.prerelease and release.yanked is None]
        if not final:
            listed = ", ".join(release.version for release in releases[-3:])
            raise UsageError(
                f"the index has no final release of {name} with a wheel",
                f"name one: {name}==VERSION; it has {listed}"
                if listed
                else nearest_releases((), Version("0")),
            )
        return final[-1]

    def wheel(self, name: str, version: str, *, fresh: bool = False) -> WheelFile:
        """The wheel of a release that is read; with ``fresh``, by a list that is fetched now.

        The choice is kept for good: a released file never changes.
        """
        wheel = self.release(name, version, fresh=fresh).best_wheel()
        if urlsplit(wheel.url).scheme != "file":
            self._store.keep("wheel-choice", self._key(name, version), wheel_to_json(wheel))
        return wheel

    def kept_wheel(self, name: str, version: str) -> WheelFile | None:
        """The wheel that was chosen for this release in an earlier run, if any."""
        return wheel_from_json(self._store.record("wheel-choice", self._key(name, version)))

    def _key(self, name: str, version: str) -> str:
        return f"{canonicalize_name(name)}=={version} from {self._fingerprint()}"

    def credential_for(self, url: str) -> Credential | None:
        """User and password that pip's settings give for this URL's origin."""
        wanted = _origin(urlsplit(url))
        for base in (self._settings.index_url or "", *self._settings.extra_index_urls):
            parts = urlsplit(base)
            if parts.username is not None and _origin(parts) == wanted:
                return basic_credential(wanted, unquote(parts.username), unquote(parts.password or ""))
        return None

    # Asking

    def _indexes(self) -> tuple[str, ...]:
        """The indexes that are asked; ``DEFAULT`` is pip's own, whose address a slow import knows."""
        if self._settings.no_index:
            return ()
        return (self._settings.index_url or DEFAULT, *self._settings.extra_index_urls)

    def _fingerprint(self) -> str:
        """Which indexes are asked, without their credentials; slow imports are not needed for it."""
        named = [public(url) for url in (*self._indexes(), *self._settings.find_links)]
        return hashlib.sha256("\n".join(named).encode()).hexdigest()[:16]

    def _listing(self, name: str, *, fresh: bool) -> "_Listing":
        """All wheels of a project over all indexes. One index that fails does not hide the others."""
        project = canonicalize_name(name)
        files: dict[str, WheelFile] = {}
        failures: list[SourceError] = []
        kept = known = False
        for base in self._indexes():
            try:
                listed, from_store = self._page(base, project, fresh=fresh)
            except NotFoundError:
                continue
            except SourceError as error:
                failures.append(error)
                continue
            known = True
            kept = kept or from_store
            for file in listed:
                files.setdefault(file.filename, file)
        for file in find_links(self._settings.find_links, project):
            files.setdefault(file.filename, file)
            known = True
        if failures and not files:
            raise failures[0]
        for failure in failures:
            self._complain(project, f"{failure}; the other indexes go on")
        if not known:
            raise UsageError(
                f"the package index has no project {name!r}",
                "check the name, and pip's index-url and extra-index-url settings (`pip config list`)",
            )
        return _Listing(tuple(files.values()), kept, tuple(failures))

    def _page(self, base: str, project: str, *, fresh: bool) -> tuple[tuple[WheelFile, ...], bool]:
        if urlsplit(base).scheme == "file":
            return file_page(_page_url(base, project), project), False
        key = f"{project} at {public(base)}"
        entry = self._store.entry("project-page", key)
        if entry is not None and isinstance(entry.value, list):
            age = datetime.now(UTC) - entry.kept_at
            kept = [wheel_from_json(row) for row in entry.value]
            if None not in kept and (
                self._transport.offline or (not fresh and timedelta(0) <= age < LISTING_AGE)
            ):
                return tuple(file for file in kept if file is not None), True
        files = self._fetch(_page_url(base, project), project)
        self._store.keep("project-page", key, [wheel_to_json(file) for file in files])
        return files, False

    def _fetch(self, url: str, project: str) -> tuple[WheelFile, ...]:
        from pypi_simple import ACCEPT_JSON_PREFERRED

        answer = self._transport.get(
            public(url),
            what=f"the list of {project} releases",
            source=project,
            headers={"Accept": ACCEPT_JSON_PREFERRED},
            credential=self.credential_for(url),
            limit=LISTING_LIMIT,
        )
        kind = answer.headers.get("content-type", "text/html")
        here = urlsplit(answer.url)
        files = parse_page(answer.body, kind, answer.url, project)
        refused = {file.filename: why for file in files if (why := why_not(here, file.url))}
        for filename, why in list(refused.items())[:1]:
            self._complain(
                project, f"{len(refused)} files of {here.hostname} are left out ({filename}: {why})"
            )
        return tuple(file for file in files if file.filename not in refused)

    def _complain(self, project: str, error: str) -> None:
        details: dict[str, Json] = {"source": project, "error": error}
        self._events(Event(kind=EventKind.FAILED, agent=None, details=details))


def _page_url(base: str, project: str) -> str:
    if base == DEFAULT:
        from pypi_simple import PYPI_SIMPLE_ENDPOINT

        base = PYPI_SIMPLE_ENDPOINT
    return f"{base.rstrip('/')}/{project}/"


@dataclass(frozen=True)
class _Listing:
    """A project's wheels; ``kept``: (some of) the list comes from the store."""

    files: tuple[WheelFile, ...]
    kept: bool
    failures: tuple[SourceError, ...]


def _find(listing: _Listing, wanted: Version) -> Release | None:
    """The release of this version, else one that differs from it in its local label alone."""
    releases = _by_version(listing.files)
    exact = [r for r in releases if Version(r.version) == wanted]
    local = [r for r in releases if Version(Version(r.version).public) == wanted]
    found = exact or local
    return found[-1] if found else None


def nearest_releases(releases: Iterable[Release], wanted: Version, count: int = 2) -> str:
    """Advice: the releases just below and just above a version, and the newest one."""
    names = [release.version for release in releases]
    if not names:
        return "the index lists no wheel of it at all"
    below = [name for name in names if Version(name) < wanted][-count:]
    above = [name for name in names if Version(name) > wanted][:count]
    return f"the nearest are {', '.join([*below, *above])}; the newest is {names[-1]}"


def _version(text: str, name: str) -> Version:
    try:
        return Version(text)
    except InvalidVersion:
        raise UsageError(
            f"{text!r} is not a version of {name}", "write it as the package index does, e.g. 0.20.1"
        ) from None


def _by_version(files: Iterable[WheelFile]) -> tuple[Release, ...]:
    groups: dict[Version, list[WheelFile]] = {}
    for file in files:
        groups.setdefault(Version(file.version), []).append(file)
    return tuple(
        Release(
            version=str(version),
            wheels=tuple(wheels),
            uploaded=min((w.uploaded for w in wheels if w.uploaded), default=None),
            yanked=next((w.yanked for w in wheels), None)
            if all(w.yanked is not None for w in wheels)
            else None,
        )
        for version, wheels in sorted(groups.items())
    )


def _preference(wheel: WheelFile) -> tuple[bool, int, int, str]:
    platform = wheel.platform
    rank = (
        3 if "linux" in platform and "x86_64" in platform else 2 if platform == "any" else "linux" in platform
    )
    return wheel.yanked is None, int(rank), wheel.build, wheel.filename


def _origin(parts: SplitResult) -> str:
    return f"{parts.scheme}://{without_credentials(parts).netloc}"
