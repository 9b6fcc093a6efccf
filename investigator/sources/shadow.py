"""An overlay that ``investigate overlay`` made: patched files over the installation that they shadow."""

import json
from dataclasses import replace
from pathlib import Path

from investigator.errors import IncompleteError
from investigator.model import SourceKind
from investigator.sources.folder import FolderTree, open_folder, read_regular
from investigator.sources.interface import Tree
from investigator.sources.overlay_tree import PatchedTree
from investigator.sources.renamed_tree import RenamedTree

MANIFEST = "overlay.json"
MAX_MANIFEST = 1 << 20


def open_shadow(folder: Path, package: str) -> Tree | None:
    """The engine as a process sees it that has this overlay on its path; None for another folder.

    Its links lead out of it, and no link is followed out of a folder: what is not patched is read
    from the package in the installation that the manifest names, and from nowhere else.
    Raises UsageError when that installation is gone.
    """
    try:
        said = json.loads(read_regular(folder / MANIFEST, MANIFEST, MAX_MANIFEST))
        if said["schema"] != 1 or said["package"] != package:
            return None
        installation, files = Path(str(said["installation"])), [str(path) for path in said["files"]]
    except (IncompleteError, ValueError, KeyError, TypeError, RecursionError):
        return None
    base = open_folder(installation, package)
    own = FolderTree(base.source, folder, (package,))
    changed = {path: own.read(path) for path in files}
    source = replace(
        base.source,
        kind=SourceKind.FOLDER,
        name=str(folder),
        note="; ".join(filter(None, (f"an overlay of {installation}", base.source.note))),
    )
    return PatchedTree(RenamedTree(base, source), changed)
