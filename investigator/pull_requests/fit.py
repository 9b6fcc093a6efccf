"""How a diff fits on an engine's tree: nothing is written, the result is a tree in memory."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from investigator.errors import IncompleteError
from investigator.pull_requests.hunks import Misfit, apply_hunks, unapply_hunks
from investigator.pull_requests.merge import merge
from investigator.sources.diff_header import ChangeKind
from investigator.sources.diff_reader import ChangedFile
from investigator.sources.interface import Tree
from investigator.sources.overlay_tree import PatchedTree

Bases = Callable[[ChangedFile], bytes | None]
"""A changed file's content before the change, in its own repository; None when not to be had."""

_PREFIXES = ("python/", "src/")
"""Folders that hold the package in a repository and are not there in a release."""


class Fit(StrEnum):
    """How a change stands to a tree. Order: what decides for the whole when files differ."""

    CONFLICTS = "conflicts"
    MERGES = "merges"
    APPLIES = "applies"
    CONTAINED = "contained"
    OUTSIDE = "outside"


@dataclass(frozen=True)
class Conflict:
    """A place where a change does not fit. ``line`` counts from 1."""

    path: str
    line: int
    why: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.why}"


@dataclass(frozen=True)
class FileFit:
    """One file: how it fits, and what becomes of which paths (None: deleted)."""

    fit: Fit
    after: tuple[tuple[str, bytes | None], ...] = ()
    conflict: Conflict | None = None


@dataclass(frozen=True, kw_only=True)
class TreeFit:
    """The whole diff. ``patched`` None with conflicts. ``skipped``: files and why not."""

    fit: Fit
    conflicts: tuple[Conflict, ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()
    changed: tuple[str, ...] = ()
    patched: PatchedTree | None = None


def fit_diff(files: Sequence[ChangedFile], tree: Tree, bases: Bases | None = None) -> TreeFit:
    """Try every file of a diff on ``tree``.

    Files outside the engine's packages (tests, docs) are left out, and so are files that
    cannot be applied at all (binary, paths that leave the tree); ``skipped`` says which. One
    of these inside the engine's packages is a conflict.
    """
    known = frozenset(tree.paths())
    packages = packages_of(known)
    skipped: list[tuple[str, str]] = []
    inside: list[tuple[ChangedFile, str, str]] = []
    for file in files:
        new, old = (in_packages(path, packages) for path in (file.path, file.old_path))
        if new is None or old is None:
            skipped.append((file.path, file.problem or "outside the engine's packages"))
        else:
            inside.append((file, old, new))
    tree.prefetch([old for _, old, _ in inside])
    fits = [_fit_file(file, old, new, tree, known, bases) for file, old, new in inside]
    conflicts = tuple(found.conflict for found in fits if found.conflict is not None)
    after = {path: content for found in fits for path, content in found.after}
    return TreeFit(
        fit=_whole([found.fit for found in fits]),
        conflicts=conflicts,
        skipped=tuple(skipped),
        changed=tuple(sorted(after)),
        patched=None if conflicts else PatchedTree(tree, after),
    )


def packages_of(paths: Iterable[str]) -> frozenset[str]:
    """The top folders of a tree."""
    return frozenset(path.partition("/")[0] for path in paths if "/" in path)


def in_packages(path: str, packages: Collection[str]) -> str | None:
    """The path as the tree has it, None for one that is not in the engine's packages."""
    for prefix in ("", *_PREFIXES):
        rest = path.removeprefix(prefix)
        if path.startswith(prefix) and rest.partition("/")[0] in packages:
            return rest
    return None


def _whole(fits: Sequence[Fit]) -> Fit:
    """What the files come to together: a change that is there in part is not contained."""
    return next((fit for fit in Fit if fit in fits), Fit.OUTSIDE)


def _fit_file(
    file: ChangedFile, old: str, new: str, tree: Tree, known: frozenset[str], bases: Bases | None
) -> FileFit:
    if file.problem is not None:
        return _conflict(new, 1, file.problem)
    match file.kind:
        case ChangeKind.ADDED:
            return _added(file, new, tree, known)
        case ChangeKind.DELETED if old not in known:
            return FileFit(Fit.CONTAINED)
        case ChangeKind.DELETED:
            gone = apply_hunks(tree.read(old), file.hunks)
            if gone == b"":
                return FileFit(Fit.APPLIES, ((old, None),))
            return _conflict(old, gone.line if isinstance(gone, Misfit) else 1, "the file to delete differs")
    if old not in known:
        moved = file.kind is ChangeKind.RENAMED and new in known
        here = unapply_hunks(tree.read(new), file.hunks) if moved else None
        if isinstance(here, bytes):
            return FileFit(Fit.CONTAINED)
        return _conflict(old, 1, "the engine has no such file")
    return _modified(file, old, new, tree.read(old), bases)


def _added(file: ChangedFile, path: str, tree: Tree, known: frozenset[str]) -> FileFit:
    content = apply_hunks(b"", file.hunks)
    if isinstance(content, Misfit):
        return _conflict(path, content.line, "the new file's lines cannot be put together")
    if path not in known:
        return FileFit(Fit.APPLIES, ((path, content),))
    if tree.read(path) == content:
        return FileFit(Fit.CONTAINED)
    return _conflict(path, 1, "the engine has another file of this name")


def _modified(file: ChangedFile, old: str, new: str, ours: bytes, bases: Bases | None) -> FileFit:
    applied = apply_hunks(ours, file.hunks)
    if isinstance(applied, bytes):
        return FileFit(Fit.APPLIES, _placed(old, new, applied))
    if old == new and isinstance(unapply_hunks(ours, file.hunks), bytes):
        return FileFit(Fit.CONTAINED)
    base = bases(file) if bases is not None else None
    theirs = apply_hunks(base, file.hunks) if base is not None else None
    if base is None or not isinstance(theirs, bytes):
        return _conflict(old, applied.line, applied.why)
    try:
        merged = merge(ours, base, theirs)
    except IncompleteError as error:
        return _conflict(old, applied.line, str(error))
    if merged.content is None:
        return _conflict(
            old, merged.conflicts[0] if merged.conflicts else 1, "both sides changed these lines"
        )
    if merged.content == ours:
        return FileFit(Fit.CONTAINED)
    return FileFit(Fit.MERGES, _placed(old, new, merged.content))


def _placed(old: str, new: str, content: bytes) -> tuple[tuple[str, bytes | None], ...]:
    return ((new, content),) if old == new else ((old, None), (new, content))


def _conflict(path: str, line: int, why: str) -> FileFit:
    return FileFit(Fit.CONFLICTS, conflict=Conflict(path, line, why))
