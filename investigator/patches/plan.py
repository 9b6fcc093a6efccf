"""What patches would make of an engine on a disk, checked before anything is written."""

import hashlib
import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from investigator.errors import PatchError
from investigator.patches.diff import git_blob
from investigator.patches.git import applied, touched_paths
from investigator.sources.folder import distribution_folder

_INDEX = re.compile(rb"^diff --git a/(\S+) b/.*\n(?:new file .*\n)?index ([0-9a-f]{7,40})\.\.", re.MULTILINE)


@dataclass(frozen=True)
class NamedPatch:
    """A patch file: its name, and its bytes."""

    name: str
    content: bytes

    def touched(self) -> tuple[str, ...]:
        """The files that it changes or adds. Raises PatchError, which names this file."""
        try:
            return touched_paths(self.content)
        except PatchError as error:
            raise PatchError(f"{self.name}: {error}", error.advice) from None


@dataclass(frozen=True)
class Change:
    """One file before and after all patches."""

    path: str
    before: bytes
    after: bytes

    @property
    def before_sha256(self) -> str:
        """Hash of the file as it is."""
        return hashlib.sha256(self.before).hexdigest()

    @property
    def after_sha256(self) -> str:
        """Hash of the file as it will be."""
        return hashlib.sha256(self.after).hexdigest()


def installed_version(root: Path, package: str) -> str | None:
    """The version that the package's ``.dist-info`` names; None for a checkout."""
    folder = distribution_folder(root, package)
    return folder.removesuffix(".dist-info").rpartition("-")[2] if folder else None


def check_version(root: Path, package: str, version: str | None) -> str | None:
    """The version that is there. Raises PatchError when it is not the one that was asked for."""
    if not (root / package).is_dir():
        raise PatchError(f"there is no {package} in {root}", f"name the folder that holds {package}/")
    there = installed_version(root, package)
    if version is not None and there is not None and version != there:
        raise PatchError(
            f"the patches are for {package} {version}, and {root} holds {there}",
            f"make patches for {there}: investigate run --engine {package}=={there}",
        )
    return there


def planned(root: Path, patches: Sequence[NamedPatch], *, writable: bool = True) -> list[Change]:
    """The files before and after all patches, checked to be those they were made for.

    ``writable``: whether they must be fit to be written where they are. Nothing is written.
    Raises PatchError.
    """
    pristine: dict[str, bytes] = {}
    files: dict[str, bytes] = {}
    for patch in patches:
        made_for = {path.decode(): blob.decode() for path, blob in _INDEX.findall(patch.content)}
        for path in patch.touched():
            if made_for.get(path, "-").strip("0") == "":
                raise PatchError(
                    f"{patch.name} adds {path}, and only files that are there are changed here",
                    "take it with git am on a checkout, or make the patches without --upstream",
                )
            if path not in files:
                pristine[path] = files[path] = _read(root, path, writable=writable)
            blobs = (git_blob(pristine[path]), git_blob(files[path]))
            if path in made_for and not any(blob.startswith(made_for[path]) for blob in blobs):
                raise PatchError(
                    f"{root / path} is not the file that {patch.name} was made for",
                    f"make a patch for it as it is: investigate run --engine path:{root}",
                )
        files |= applied(patch.content, files)
    changes = [
        Change(path, pristine[path], after) for path, after in files.items() if after != pristine[path]
    ]
    if not changes:
        raise PatchError("the patches change nothing", "name at least one patch file")
    return changes


def _read(root: Path, path: str, *, writable: bool) -> bytes:
    """A file that may be patched: regular, and where it is to be written, ours and really here."""
    target = root / path
    try:
        found = target.stat()
        inside = target.parent.resolve().is_relative_to(root)
    except OSError:
        raise PatchError(f"there is no {target}", "are these patches for this engine?") from None
    if not stat.S_ISREG(found.st_mode):
        raise PatchError(f"{target} is no regular file", "look at it by hand")
    if not writable:
        return target.read_bytes()
    if not inside:
        raise PatchError(
            f"{target.parent} is a link to {target.parent.resolve()}, which others may use too",
            "patch that folder itself, or use an overlay: investigate overlay",
        )
    own = target.lstat()
    if not found.st_mode & stat.S_IWUSR or not os.access(target.parent, os.W_OK):
        raise PatchError(f"{target} is read-only", "make it writable, or use an overlay: investigate overlay")
    if own.st_uid != os.geteuid() and os.geteuid() != 0:
        raise PatchError(f"{target} belongs to another user", "apply as that user, or use an overlay")
    return target.read_bytes()
