"""What an index says about one project: its wheels, from a page in JSON or HTML, or a folder."""

import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit
from urllib.request import url2pathname

from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import InvalidVersion

from investigator.errors import NotFoundError, SourceError
from investigator.model import Json
from investigator.sources.web import without_credentials

if TYPE_CHECKING:
    from pypi_simple import DistributionPackage

MAX_COMMENTS = 100
"""Comments of a page in HTML; indexes write one or two."""
_LINK_OR_COMMENT = re.compile(rb"</?a(?=[\s/>])|<!--", re.IGNORECASE)


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


def parse_page(body: bytes, content_type: str, base: str, project: str) -> tuple[WheelFile, ...]:
    from pypi_simple import ProjectPage

    try:
        if "json" in content_type.lower():
            page = ProjectPage.from_json_data(json.loads(body), base)
        else:
            _vet(body)
            page = ProjectPage.from_html(project, body, base)
    except Exception as error:  # pypi-simple and its parsers raise many kinds for a broken page
        raise SourceError(
            f"the list of {project} releases at {base} cannot be read: {str(error).splitlines()[0][:200]}",
            "is that address a package index (simple API)?",
        ) from error
    return _wheels(page.packages, project)


def _vet(page: bytes) -> None:
    """Refuse what no index writes and HTML parsers take for ever over. Raises ValueError."""
    links = comments = 0
    for mark in _LINK_OR_COMMENT.finditer(page):
        comments += mark[0] == b"<!--"
        links = 0 if mark[0].startswith(b"</") else links + (mark[0] != b"<!--")
        if links > 1 or comments > MAX_COMMENTS:
            raise ValueError("it holds links within links" if links > 1 else "it is full of comments")


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

    try:
        name, version, build, _ = parse_wheel_filename(filename)
    except (InvalidWheelFilename, InvalidVersion):
        return None
    if name != project:
        return None
    platform = filename.removesuffix(".whl").rpartition("-")[2]
    return str(version), build[0] if build else 0, platform


def file_page(url: str, project: str) -> tuple[WheelFile, ...]:
    """A project's page in a ``file:`` index: its ``index.html``, or a bare folder of wheels."""
    folder = file_url_path(url)
    page = folder / "index.html"
    if page.is_file():
        return parse_page(page.read_bytes(), "text/html", url + "index.html", project)
    if folder.is_dir():
        return _folder_wheels(folder, project)
    raise NotFoundError(f"there is no {folder}", "check pip's index settings")


def find_links(places: Iterable[str], project: str) -> Iterable[WheelFile]:
    """Wheels of a project in the local folders that ``find-links`` names; web pages are left out."""
    for place in places:
        parts = urlsplit(place)
        if parts.scheme in ("", "file"):
            folder = file_url_path(place) if parts.scheme else Path(os.path.expanduser(place))
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


def public(url: str) -> str:
    return urlunsplit(without_credentials(urlsplit(url)))


def wheel_to_json(wheel: WheelFile) -> Json:
    """A wheel as it is kept."""
    return {
        "filename": wheel.filename,
        "url": public(wheel.url),
        "version": wheel.version,
        "build": wheel.build,
        "platform": wheel.platform,
        "sha256": wheel.sha256,
        "size": wheel.size,
        "yanked": wheel.yanked,
        "uploaded": wheel.uploaded.isoformat() if wheel.uploaded else None,
        "requires_python": wheel.requires_python,
    }


def wheel_from_json(value: Json) -> WheelFile | None:
    """The wheel that was kept; None for a value of another shape, which counts as a miss."""
    try:
        fields: Any = dict(value)  # type: ignore[arg-type]
        uploaded = fields.pop("uploaded")
        return WheelFile(uploaded=datetime.fromisoformat(uploaded) if uploaded else None, **fields)
    except (KeyError, TypeError, ValueError):
        return None
