"""A folder that shadows an installed package with a patched one, without touching it.

Put the folder first on ``PYTHONPATH`` and every Python process that inherits it imports the package
from here. Only what has to differ is really here: the patched files, and the folders on the way
to them. Everything else, compiled extensions and data files too, is a link to the installation.
Compiled caches are never linked into a folder that holds a patched file: a stale one would be
used, or the installation's would be overwritten.
"""

import json
import os
import shlex
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from investigator.errors import PatchError, what_is_wrong
from investigator.patches.disk import sha256_of, telling
from investigator.patches.plan import NamedPatch, check_version, installed_version, planned

MANIFEST = "overlay.json"
_SCHEMA = 1
_CACHES = "__pycache__"


@dataclass(frozen=True, kw_only=True)
class Overlay:
    """``folder`` goes on PYTHONPATH; ``files`` are patched, paths relative to it."""

    folder: Path
    package: str
    installation: Path
    version: str | None
    files: tuple[str, ...]

    @property
    def export(self) -> str:
        """The line for a shell that switches the overlay on."""
        return f"export PYTHONPATH={shlex.quote(str(self.folder))}${{PYTHONPATH:+:$PYTHONPATH}}"

    def environment(self, base: Mapping[str, str]) -> dict[str, str]:
        """``base`` with the overlay switched on, for a child process."""
        rest = base.get("PYTHONPATH")
        path = str(self.folder) + (os.pathsep + rest if rest else "")
        return {**base, "PYTHONPATH": path}


def build(
    root: Path,
    package: str,
    patches: Sequence[NamedPatch],
    folder: Path,
    *,
    version: str | None = None,
) -> Overlay:
    """Make ``folder``, an overlay of the package in ``root`` with ``patches`` in.

    ``folder`` must not exist yet; it is there whole, or not at all. Raises PatchError where the
    installation is not what the patches were made for, as apply does; it is only read.
    """
    root = root.resolve()
    there = check_version(root, package, version)
    folder = folder.absolute()
    if folder.exists():
        raise PatchError(f"{folder} exists already", "name a folder that does not, or remove this one")
    if folder.is_relative_to(root / package):
        raise PatchError(f"{folder} lies inside the package", "name a folder outside it")
    changes = planned(root, patches, writable=False)
    outside = [change.path for change in changes if not change.path.startswith(f"{package}/")]
    if outside:
        raise PatchError(f"the patches touch {', '.join(outside)}", f"an overlay shadows {package} alone")
    with telling(f"building {folder}"):
        folder.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
        try:
            fresh.chmod(0o755)
            _shadow(
                root / package,
                fresh / package,
                {c.path.removeprefix(f"{package}/"): c.after for c in changes},
            )
            _link_neighbours(root, package, fresh)
            manifest = {
                "schema": _SCHEMA,
                "package": package,
                "installation": str(root),
                "version": there,
                "patches": [patch.name for patch in patches],
                "files": {change.path: {"original": change.before_sha256} for change in changes},
            }
            (fresh / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n")
            fresh.rename(folder)
        except BaseException:
            shutil.rmtree(fresh, ignore_errors=True)
            raise
    return Overlay(
        folder=folder,
        package=package,
        installation=root,
        version=there,
        files=tuple(change.path for change in changes),
    )


def load(folder: Path) -> Overlay:
    """An overlay made earlier, checked against its installation.

    Raises PatchError when it is none, or the installation has changed since: what is linked would
    then be of another version than what is patched.
    """
    folder = folder.absolute()
    try:
        said = json.loads((folder / MANIFEST).read_bytes())
        if said["schema"] != _SCHEMA:
            raise ValueError(f"schema {said['schema']}")
        package, root = str(said["package"]), Path(said["installation"])
        originals = {str(path): str(about["original"]) for path, about in said["files"].items()}
        version = said["version"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise PatchError(
            f"{folder} is no overlay: {what_is_wrong(error)}", "build one: investigate overlay"
        ) from None
    there = installed_version(root, package)
    changed = [path for path, original in originals.items() if sha256_of(root / path) != original]
    if there != version or changed:
        what = f"{package} {there} instead of {version}" if there != version else f"another {changed[0]}"
        raise PatchError(f"{root} holds {what} by now", f"remove {folder} and build the overlay anew")
    return Overlay(folder=folder, package=package, installation=root, version=version, files=tuple(originals))


def _shadow(original: Path, shadow: Path, patched: Mapping[str, bytes]) -> None:
    """A folder like ``original``: ``patched`` (relative paths) written, the rest linked."""
    shadow.mkdir()
    inner: dict[str, dict[str, bytes]] = {}
    for path, content in patched.items():
        head, slash, rest = path.partition("/")
        if slash:
            inner.setdefault(head, {})[rest] = content
        else:
            (shadow / head).write_bytes(content)
            shutil.copymode(original / head, shadow / head)
    for entry in sorted(original.iterdir()):
        if entry.name == _CACHES or entry.name in patched:
            continue
        if entry.name in inner:
            _shadow(entry, shadow / entry.name, inner[entry.name])
        else:
            (shadow / entry.name).symlink_to(entry.absolute())


def _link_neighbours(root: Path, package: str, folder: Path) -> None:
    """Folders of shared libraries that extensions look for beside the package."""
    for name in (f"{package}.libs", f".{package}.libs"):
        if (root / name).is_dir():
            (folder / name).symlink_to((root / name).absolute())
