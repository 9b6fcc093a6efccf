"""A folder on this machine as a tree: an unpacked wheel, a checkout, an unpacked image."""

import hashlib
import os
import re
import stat
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from packaging.utils import canonicalize_name

from investigator.errors import IntegrityError, LimitError, NotFoundError, SourceError, UsageError
from investigator.model import Origin, Source, SourceKind
from investigator.sources.range_zip import MAX_MEMBER
from investigator.sources.record_file import parse_record

MAX_FILES = 100_000
SKIPPED_FOLDERS = frozenset({"__pycache__", ".git", ".hg", ".svn", "node_modules", ".venv", ".tox"})
_VERSION = re.compile(
    r"""^(?:__version__\s*=\s*)?(?:__version__|version)\s*=\s*["']([^"'\n]{1,64})["']""", re.MULTILINE
)


class FolderTree:
    """Files below one folder; only regular files, links only where they stay below it."""

    def __init__(
        self, source: Source, root: Path, below: Sequence[str] = ("",), dist_info: str | None = None
    ) -> None:
        """``below``: the top folders (relative, POSIX) that belong to the tree; ``""`` is all.

        ``dist_info``: the folder whose RECORD says what the files were when they were installed.
        """
        self._dist_info = dist_info
        self._source = source
        self._root = root.resolve()
        self._below = tuple(below)
        self._lock = threading.Lock()
        self._digests: dict[str, str] = {}
        self._paths: tuple[str, ...] | None = None

    @property
    def source(self) -> Source:
        """The folder."""
        return self._source

    @property
    def root(self) -> Path:
        """The folder that paths are relative to."""
        return self._root

    def paths(self) -> Sequence[str]:
        """Every file's path, sorted."""
        with self._lock:
            if self._paths is None:
                self._paths = tuple(sorted(self._walk()))
            return self._paths

    def digest(self, path: str) -> str:
        """sha256 of the file as it was first read in this run."""
        with self._lock:
            known = self._digests.get(path)
        if known is None:
            self.read(path)
            with self._lock:
                known = self._digests[path]
        return known

    def read(self, path: str) -> bytes:
        """The file's bytes. Raises IntegrityError when it changed since it was first read."""
        data = read_regular(self._inside(path), f"{self._source.name}: {path}")
        sha256 = hashlib.sha256(data).hexdigest()
        with self._lock:
            before = self._digests.setdefault(path, sha256)
        if before != sha256:
            raise IntegrityError(f"{path} changed while it was being investigated", "run again")
        return data

    def prefetch(self, paths: Iterable[str]) -> None:
        """Nothing to do: the files are here."""

    def modified(self) -> tuple[str, ...]:
        """Python files that are not what the installed RECORD says: changed, missing, or added.

        Empty when there is no RECORD to compare with. Raises IntegrityError for a broken one.
        """
        record = f"{self._dist_info}/RECORD"
        present = {path for path in self.paths() if path.endswith(".py")}
        if record not in self.paths():
            return ()
        rows = parse_record(self.read(record))
        recorded = {path for path in rows if path.endswith(".py") and path.startswith(f"{self._below[0]}/")}
        kept = present & recorded
        changed = {path for path in kept if rows[path].sha256 not in (None, self.digest(path))}
        return tuple(sorted((present ^ recorded) | changed))

    def _inside(self, path: str) -> Path:
        pure = PurePosixPath(path)
        if pure.is_absolute() or ".." in pure.parts or "\0" in path:
            raise NotFoundError(f"{path!r} is no path in {self._source.name}", "paths are relative")
        target = self._root / pure
        if not any(below in ("", path) or path.startswith(f"{below}/") for below in self._below):
            raise NotFoundError(f"{self._source.name} has no file {path}", "check the path")
        try:
            resolved = target.resolve(strict=True)
        except (OSError, RuntimeError):
            raise NotFoundError(f"{self._source.name} has no file {path}", "check the path") from None
        if not resolved.is_relative_to(self._root):
            raise NotFoundError(f"{path} is a link that leaves {self._source.name}", "it is not followed")
        return resolved

    def _walk(self) -> Iterator[str]:
        count = 0
        waiting = list(self._below)
        while waiting:
            folder = waiting.pop()
            for entry in _entries(self._root / folder):
                path = f"{folder}/{entry.name}" if folder else entry.name
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in SKIPPED_FOLDERS:
                        waiting.append(path)
                elif entry.is_file(follow_symlinks=False) or self._is_linked_file(entry, path):
                    yield path
                    count += 1
            if count > MAX_FILES:
                raise LimitError(
                    f"{self._root} holds more than {MAX_FILES} files", "name the folder of the package itself"
                )

    def _is_linked_file(self, entry: os.DirEntry[str], path: str) -> bool:
        try:
            return entry.is_symlink() and self._inside(path).is_file()
        except (NotFoundError, OSError):
            return False


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    """What is in a folder; nothing when it cannot be listed.

    A name that is not UTF-8 is left out: no evidence can point at what cannot be written down.
    """
    try:
        with os.scandir(folder) as entries:
            return [entry for entry in entries if _is_text(entry.name)]
    except OSError:
        return []


def _is_text(name: str) -> bool:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def user_path(text: str | Path) -> Path:
    """A path as the user wrote it, with ``~`` expanded; nothing needs to be there.

    Raises UsageError for one that cannot be looked at (too long, no permission, a NUL).
    """
    path = Path(os.path.expanduser(text))  # unlike Path.expanduser, leaves an unknown user's name alone
    try:
        path.stat()
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:
        shown = f"{str(text)[:80]}..." if len(str(text)) > 80 else str(text)
        why = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"cannot look at {shown!r}: {why}", "check the path and its permissions") from error
    return path


def read_regular(path: Path, what: str, limit: int = MAX_MEMBER) -> bytes:
    """The content of a regular file within the size limit; devices and pipes are never opened."""
    try:
        info = path.stat()
        if not stat.S_ISREG(info.st_mode):
            raise NotFoundError(f"{what} is not a regular file", "it is not read")
        if info.st_size > limit:
            raise LimitError(f"{what} is {info.st_size} bytes; the limit is {limit}", "it is not read")
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except OSError as error:
        raise SourceError(
            f"{what} cannot be read: {error.strerror or error}", "check its permissions"
        ) from error
    if len(data) > limit:
        raise LimitError(f"{what} grew over {limit} bytes", "it is not read")
    return data


def find_package(folder: Path, package: str) -> Path:
    """The folder that holds the package: ``folder`` itself, or where checkouts and images keep it.

    Raises UsageError when there is none, or more than one.
    """
    if not folder.is_dir():
        raise UsageError(
            f"{folder} is not a folder", f"give path: the folder that holds {package}/__init__.py"
        )
    if folder.name == package and (folder / "__init__.py").is_file():
        return folder.resolve().parent if folder.resolve().name == package else folder.parent
    for candidate in (folder, folder / "src", folder / "python"):
        if (candidate / package / "__init__.py").is_file():
            real = (candidate / package).resolve()
            return real.parent if real.name == package else candidate
    found = sorted(_site_packages(folder, package))
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(
            f"{folder} holds {package} {len(found)} times", f"name one of: {', '.join(map(str, found[:5]))}"
        )
    raise UsageError(
        f"{folder} holds no {package}: there is no {package}/__init__.py in it",
        "give path: an unpacked wheel, a source checkout, or an environment's site-packages",
    )


def _site_packages(folder: Path, package: str) -> Iterator[Path]:
    """Environments in an unpacked image or a venv: any site-packages at most eight levels down."""
    for visited, (here, folders, _) in enumerate(os.walk(folder)):
        depth = len(Path(here).relative_to(folder).parts)
        for name in ("site-packages", "dist-packages"):
            if name in folders and (Path(here, name, package, "__init__.py")).is_file():
                yield Path(here, name)
        if depth >= 8 or visited > 50_000:
            folders.clear()
        folders[:] = [
            f
            for f in folders
            if f
            not in {
                "site-packages",
                "dist-packages",
                "proc",
                "sys",
                "dev",
                ".git",
                "node_modules",
                "__pycache__",
            }
        ]


def open_folder(folder: Path, package: str) -> FolderTree:
    """The tree of a package in a folder. Raises UsageError when the folder does not hold it."""
    folder = user_path(folder)
    return package_tree(find_package(folder, package), package, name=str(folder), kind=SourceKind.FOLDER)


def open_whole_folder(folder: Path) -> FolderTree:
    """Everything in a folder; its source is called like the folder. Raises UsageError."""
    root = user_path(folder)
    if not root.is_dir():
        raise UsageError(f"{folder} is not a folder", "give path: the folder that holds the code")
    source = Source(
        id=root.resolve().name.lower() or "folder",
        kind=SourceKind.FOLDER,
        name=str(folder),
        revision="local",
        origin=Origin.LOCAL,
        retrieved_at=datetime.now(UTC),
    )
    return FolderTree(source, root)


def package_tree(root: Path, package: str, *, name: str, kind: SourceKind, note: str = "") -> FolderTree:
    """The tree of the package whose folder is in ``root``, with the ``.dist-info`` beside it.

    Files that are not what a RECORD beside them says are named in the source's note.
    """
    dist_info = distribution_folder(root, package)
    below = (package, dist_info) if dist_info else (package,)
    source = Source(
        id=package,
        kind=kind,
        name=name,
        revision=_version(root / package, dist_info) or "unknown",
        origin=Origin.LOCAL,
        retrieved_at=datetime.now(UTC),
        note=note or None,
    )
    tree = FolderTree(source, root, below, dist_info)
    changed = tree.modified()
    if not changed:
        return tree
    some = ", ".join(changed[:3]) + (f" and {len(changed) - 3} more" if len(changed) > 3 else "")
    said = f"{note}; " if note else ""
    edited = replace(source, note=f"{said}{_count(len(changed))} from its RECORD: {some}")
    return FolderTree(edited, root, below, dist_info)


def _count(files: int) -> str:
    return "1 file differs" if files == 1 else f"{files} files differ"


def distribution_folder(root: Path, package: str) -> str | None:
    """The name of the package's ``.dist-info`` in this folder, if there is one."""
    names = []
    for entry in root.glob("*.dist-info"):
        name, _, version = entry.name.removesuffix(".dist-info").rpartition("-")
        if version and canonicalize_name(name) == canonicalize_name(package) and entry.is_dir():
            names.append(entry.name)
    return max(names) if names else None


def _version(package: Path, dist_info: str | None) -> str | None:
    """The version that the ``.dist-info`` names, or a ``_version.py`` in the package states."""
    if dist_info is not None:
        return dist_info.removesuffix(".dist-info").rpartition("-")[2]
    for name in ("_version.py", "version.py"):
        try:
            text = read_regular(package / name, name).decode("utf-8", "replace")
        except (NotFoundError, SourceError, LimitError):
            continue
        match = _VERSION.search(text)
        if match:
            return match[1]
    return None
