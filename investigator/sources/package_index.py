"""Releases on the package index, as pip's settings on this machine name it.

Every index that pip would ask is asked (``index-url``, ``extra-index-url``, ``find-links``;
HTTP(S) or ``file:``), through the simple API alone, in JSON or HTML. No host is written down
here: with nothing set, pypi-simple's own default is used.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit
from urllib.request import url2pathname

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from investigator.errors import InvestigateError, NotFoundError, SourceError, UsageError
from investigator.events import Event, EventKind, EventSink, ignore
from investigator.model import Json
from investigator.sources.pip_settings import PipSettings
from investigator.sources.store import Store
from investigator.sources.transport import Credential, Transport, basic_credential, without_credentials

if TYPE_CHECKING:
    from pypi_simple import DistributionPackage

LISTING_AGE = timedelta(hours=6)
"""How long a kept list of a project's files stands for the index's own, when online."""

LISTING_LIMIT = 64 * 1024 * 1024
"""Bytes of one project page."""


@dataclass(frozen=True, kw_only=True)
class WheelFile:
    """One wheel as the index lists it. ``sha256`` and ``size`` where the index names them."""

    filename: str
    url: str
    version: str
    build: int
    platform: str
    sha256: str | None = None
    size: int | None = None
    yanked: str | None = None
    """The reason (may be empty) when it was yanked, else None."""
    uploaded: datetime | None = None
    requires_python: str | None = None


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
        return _by_version(self._files(name, fresh=False)[0])

    def release(self, name: str, version: str) -> Release:
        """The release of exactly this version. Raises UsageError, naming the nearest ones."""
        wanted = _version(version, name)
        releases: tuple[Release, ...] = ()
        for fresh in (False, True):
            files, kept = self._files(name, fresh=fresh)
            releases = _by_version(files)
            found = [r for r in releases if Version(r.version) == wanted]
            found = found or [r for r in releases if Version(Version(r.version).public) == wanted]
            if found:
                return found[-1]
            if not kept or self._transport.offline:
                break
        raise UsageError(
            f"there is no release {name}=={version} with a wheel", nearest_releases(releases, wanted)
        )

    def wheel(self, name: str, version: str) -> WheelFile:
        """The wheel of a release that is read. Kept for good: a released file never changes."""
        key = f"{canonicalize_name(name)}=={version} from {self._fingerprint()}"
        kept = self._store.record("wheel-choice", key)
        if kept is not None:
            return _wheel_from_json(kept)
        wheel = self.release(name, version).best_wheel()
        if urlsplit(wheel.url).scheme != "file":
            self._store.keep("wheel-choice", key, _wheel_to_json(wheel))
        return wheel

    def credential_for(self, url: str) -> Credential | None:
        """User and password that pip's settings give for this URL's origin."""
        wanted = _origin(urlsplit(url))
        for base in self._indexes():
            parts = urlsplit(base)
            if parts.username is not None and _origin(parts) == wanted:
                return basic_credential(wanted, unquote(parts.username), unquote(parts.password or ""))
        return None

    # Asking

    def _indexes(self) -> tuple[str, ...]:
        if self._settings.no_index:
            return ()
        main = self._settings.index_url
        if main is None:
            from pypi_simple import PYPI_SIMPLE_ENDPOINT

            main = PYPI_SIMPLE_ENDPOINT
        return (main, *self._settings.extra_index_urls)

    def _fingerprint(self) -> str:
        """Which indexes are asked, without their credentials."""
        named = [_public(url) for url in (*self._indexes(), *self._settings.find_links)]
        return hashlib.sha256("\n".join(named).encode()).hexdigest()[:16]

    def _files(self, name: str, *, fresh: bool) -> tuple[tuple[WheelFile, ...], bool]:
        """All wheels of a project, and whether (some of) the list is a kept one."""
        project = canonicalize_name(name)
        files: dict[str, WheelFile] = {}
        failures: list[InvestigateError] = []
        kept = known = False
        for base in self._indexes():
            try:
                listing, from_store = self._page(base, project, fresh=fresh)
            except NotFoundError:
                continue
            except SourceError as error:
                failures.append(error)
                continue
            known = True
            kept = kept or from_store
            for file in listing:
                files.setdefault(file.filename, file)
        for file in _find_links(self._settings.find_links, project):
            files.setdefault(file.filename, file)
            known = True
        if failures and not files:
            raise failures[0]
        for failure in failures:
            details: dict[str, Json] = {"source": name, "error": f"{failure}; the other indexes go on"}
            self._events(Event(kind=EventKind.FAILED, agent=None, details=details))
        if not known:
            raise UsageError(
                f"the package index has no project {name!r}",
                "check the name, and pip's index-url and extra-index-url settings (`pip config list`)",
            )
        return tuple(files.values()), kept

    def _page(self, base: str, project: str, *, fresh: bool) -> tuple[tuple[WheelFile, ...], bool]:
        url = f"{base.rstrip('/')}/{project}/"
        if urlsplit(url).scheme == "file":
            return _file_page(url, project), False
        key = f"{project} at {_public(base)}"
        entry = self._store.entry("project-page", key)
        if entry is not None and isinstance(entry.value, list):
            age = datetime.now(UTC) - entry.kept_at
            if self._transport.offline or (not fresh and timedelta(0) <= age < LISTING_AGE):
                return tuple(_wheel_from_json(row) for row in entry.value), True
        files = self._fetch(url, project)
        self._store.keep("project-page", key, [_wheel_to_json(file) for file in files])
        return files, False

    def _fetch(self, url: str, project: str) -> tuple[WheelFile, ...]:
        from pypi_simple import ACCEPT_JSON_PREFERRED

        answer = self._transport.get(
            _public(url),
            what=f"the list of {project} releases",
            source=project,
            headers={"Accept": ACCEPT_JSON_PREFERRED},
            credential=self.credential_for(url),
            limit=LISTING_LIMIT,
        )
        kind = answer.headers.get("content-type", "text/html")
        return _parse_page(answer.body, kind, answer.url, project)


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


# Pages


def _parse_page(body: bytes, content_type: str, base: str, project: str) -> tuple[WheelFile, ...]:
    from pypi_simple import ProjectPage

    try:
        if "json" in content_type.lower():
            page = ProjectPage.from_json_data(json.loads(body), base)
        else:
            page = ProjectPage.from_html(project, body, base)
    except Exception as error:  # pypi-simple and its parsers raise many kinds for a broken page
        raise SourceError(
            f"the list of {project} releases at {base} cannot be read: {str(error).splitlines()[0][:200]}",
            "is that address a package index (simple API)?",
        ) from error
    return _wheels(page.packages, project)


def _wheels(packages: "Iterable[DistributionPackage]", project: str) -> tuple[WheelFile, ...]:
    files = []
    for package in packages:
        tags = _tags(package.filename, project)
        if tags is None:
            continue
        version, build, platform = tags
        sha256 = package.digests.get("sha256", "").lower()
        files.append(
            WheelFile(
                filename=package.filename,
                url=package.url,
                version=version,
                build=build,
                platform=platform,
                sha256=sha256 if re.fullmatch("[0-9a-f]{64}", sha256) else None,
                size=package.size,
                yanked=(package.yanked_reason or "") if package.is_yanked else None,
                uploaded=package.upload_time,
                requires_python=package.requires_python,
            )
        )
    return tuple(files)


def _tags(filename: str, project: str) -> tuple[str, int, str] | None:
    """Version, build number and platform of a wheel of this project, or None."""
    from packaging.utils import InvalidWheelFilename, parse_wheel_filename

    try:
        name, version, build, _ = parse_wheel_filename(filename)
    except (InvalidWheelFilename, InvalidVersion):
        return None
    if name != project:
        return None
    platform = filename.removesuffix(".whl").rpartition("-")[2]
    return str(version), build[0] if build else 0, platform


def _file_page(url: str, project: str) -> tuple[WheelFile, ...]:
    """A project's page in a ``file:`` index: its ``index.html``, or a bare folder of wheels."""
    folder = file_url_path(url)
    page = folder / "index.html"
    if page.is_file():
        return _parse_page(page.read_bytes(), "text/html", url + "index.html", project)
    if folder.is_dir():
        return _folder_wheels(folder, project)
    raise NotFoundError(f"there is no {folder}", "check pip's index settings")


def _find_links(places: Iterable[str], project: str) -> Iterable[WheelFile]:
    """Wheels of a project in the local folders that ``find-links`` names; web pages are left out."""
    for place in places:
        parts = urlsplit(place)
        if parts.scheme in ("", "file"):
            folder = file_url_path(place) if parts.scheme else Path(place).expanduser()
            if folder.is_dir():
                yield from _folder_wheels(folder, project)


def _folder_wheels(folder: Path, project: str) -> tuple[WheelFile, ...]:
    wheels = []
    for path in sorted(folder.glob("*.whl")):
        tags = _tags(path.name, project)
        if tags is not None:
            version, build, platform = tags
            wheels.append(
                WheelFile(
                    filename=path.name,
                    url=path.resolve().as_uri(),
                    version=version,
                    build=build,
                    platform=platform,
                    size=path.stat().st_size,
                )
            )
    return tuple(wheels)


def file_url_path(url: str) -> Path:
    """The path that a ``file:`` URL names."""
    return Path(url2pathname(urlsplit(url).path))


def _public(url: str) -> str:
    return urlunsplit(without_credentials(urlsplit(url)))


def _origin(parts: SplitResult) -> str:
    return f"{parts.scheme}://{without_credentials(parts).netloc}"


# Keeping


def _wheel_to_json(wheel: WheelFile) -> Json:
    return {
        "filename": wheel.filename,
        "url": _public(wheel.url),
        "version": wheel.version,
        "build": wheel.build,
        "platform": wheel.platform,
        "sha256": wheel.sha256,
        "size": wheel.size,
        "yanked": wheel.yanked,
        "uploaded": wheel.uploaded.isoformat() if wheel.uploaded else None,
        "requires_python": wheel.requires_python,
    }


def _wheel_from_json(value: Json) -> WheelFile:
    assert isinstance(value, Mapping)
    fields = dict(value)
    uploaded = fields.pop("uploaded")
    return WheelFile(
        uploaded=datetime.fromisoformat(uploaded) if isinstance(uploaded, str) else None,
        **fields,  # type: ignore[arg-type]
    )
