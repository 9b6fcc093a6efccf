"""Put patches on a checkout or an installation: everything, or nothing.

In order: nobody else is at work; an interrupted run before is finished; version and content are
those that the patches were made for; originals and receipt are on the disk; the new files are
on the disk under another name; then, in a few system calls that survive this process, each takes
its place. What fails before that changes nothing; what fails during it is taken back at once, and
what cannot be taken back at once (the machine stops) by the next apply or revert.
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from investigator.errors import PatchError
from investigator.patches.disk import Disk, locked, sha256_of, telling
from investigator.patches.plan import Change, NamedPatch, check_version, planned
from investigator.patches.receipt import Drawer, Kept, Receipt, State, compiled
from investigator.patches.shield import shielded
from investigator.sources.folder import distribution_folder
from investigator.sources.record_file import parse_record


@dataclass(frozen=True, kw_only=True)
class Applied:
    """What apply did. ``notes``: what a person should know, one sentence each."""

    receipt: Receipt
    notes: tuple[str, ...]


def apply(
    root: Path,
    package: str,
    patches: Sequence[NamedPatch],
    *,
    version: str | None = None,
    now: datetime | None = None,
    disk: Disk | None = None,
) -> Applied:
    """Apply ``patches`` in order to the package in ``root`` (a site-packages folder or a checkout).

    ``version``: what the patches were made for; None where no version is known. Raises PatchError
    and leaves the old tree when anything is not as it should be, or fails.
    """
    root = root.resolve()
    there = check_version(root, package, version)
    drawer = Drawer(root, package, disk or Disk())
    with telling(f"patching {root}"), locked(root):
        _finish(drawer)
        changes = planned(root, patches)
        receipt = Receipt(
            state=State.APPLYING,
            package=package,
            version=there,
            time=(now or datetime.now(UTC)).isoformat(timespec="seconds"),
            patches=tuple(patch.name for patch in patches),
            files=tuple(_kept(root, changes)),
        )
        notes = tuple(_notes(root, package, changes, receipt))
        try:
            drawer.begin(receipt)
            _stage(drawer, receipt, changes)
            shielded(partial(_switch, drawer, receipt))
        except BaseException as error:
            _take_back(drawer, receipt, error)
            raise
        return Applied(receipt=replace(receipt, state=State.APPLIED), notes=notes)


def _finish(drawer: Drawer) -> None:
    """Leave no earlier run behind: finish an interrupted one, refuse on top of a finished one."""
    receipt = drawer.read()
    if receipt is None:
        drawer.clear()
        return
    if receipt.state is not State.APPLIED:
        drawer.restore(receipt)
        return
    sources = [kept for kept in receipt.files if kept.after is not None]
    if all(sha256_of(drawer.target(kept)) == kept.before for kept in sources):
        drawer.clear()  # reinstalled since: the receipt speaks of files that are gone
        return
    raise PatchError(
        f"{drawer.root} is patched already ({', '.join(receipt.patches)})",
        f"take that back first: investigate revert --from {shlex.quote(str(drawer.root))}",
    )


def _kept(root: Path, changes: Sequence[Change]) -> list[Kept]:
    """Every file that will be another one: the patched ones, and their compiled caches."""
    kept = [Kept(path=c.path, before=c.before_sha256, after=c.after_sha256) for c in changes]
    for change in changes:
        for cache in compiled(root / change.path):
            if (before := sha256_of(cache)) is not None:
                kept.append(Kept(path=cache.relative_to(root).as_posix(), before=before, after=None))
    return kept


def _stage(drawer: Drawer, receipt: Receipt, changes: Sequence[Change]) -> None:
    """Write the new files beside the old ones. A full disk is noticed here, with nothing changed."""
    for kept, change in zip(receipt.files, changes, strict=False):
        drawer.disk.create(drawer.new(kept), change.after, like=drawer.target(kept))
    for folder in {drawer.target(kept).parent for kept in receipt.files}:
        drawer.disk.sync(folder)


def _switch(drawer: Drawer, receipt: Receipt) -> None:
    """Let each new file take its place, the caches of the old ones first gone, and say so."""
    for kept in receipt.files:
        if kept.after is None:
            drawer.disk.remove(drawer.target(kept))
    for kept in receipt.files:
        if kept.after is not None:
            if sha256_of(drawer.target(kept)) != kept.before:
                raise PatchError(
                    f"{drawer.target(kept)} was changed by someone else meanwhile",
                    "nothing was patched; try again",
                )
            drawer.disk.replace(drawer.new(kept), drawer.target(kept))
    for folder in {drawer.target(kept).parent for kept in receipt.files}:
        drawer.disk.sync(folder)
    drawer.mark(receipt, State.APPLIED)


def _take_back(drawer: Drawer, receipt: Receipt, error: BaseException) -> None:
    """Restore the old tree after ``error``, and tell it as a PatchError where it is the disk's."""
    try:
        _undo(drawer, receipt)
    except (OSError, PatchError) as second:
        raise PatchError(
            f"patching {drawer.root} failed ({error}), and so did taking it back: {second}",
            "run investigate revert; it goes on from here",
        ) from error
    if isinstance(error, OSError | PatchError):
        raise PatchError(
            f"patching {drawer.root} failed, nothing is patched: {error}",
            getattr(error, "advice", "") or "see to the disk, then try again",
        ) from error


def _undo(drawer: Drawer, receipt: Receipt) -> None:
    for kept in receipt.files:
        drawer.disk.remove(drawer.new(kept))
    if drawer.read() is None:
        drawer.clear()
        return
    others = [
        kept
        for kept in receipt.files
        if kept.after is not None and sha256_of(drawer.target(kept)) not in (kept.before, kept.after)
    ]
    drawer.restore(receipt, spare=others)


def _notes(root: Path, package: str, changes: Sequence[Change], receipt: Receipt) -> list[str]:
    notes = []
    shared = [c.path for c in changes if (root / c.path).is_symlink() or (root / c.path).stat().st_nlink > 1]
    if shared:
        notes.append(
            f"{', '.join(shared)}: shared with a package cache or another environment; "
            "this place has its own copy now, the others stay as they were"
        )
    folder = distribution_folder(root, package)
    record = root / folder / "RECORD" if folder else None
    if record is not None and record.is_file():
        rows = parse_record(record.read_bytes())
        listed = [c.path for c in changes if c.path in rows and rows[c.path].sha256 is not None]
        if listed:
            notes.append(
                f"RECORD of {package} does not match any more for {', '.join(listed)}; "
                "a reinstall would undo the patch"
            )
    caches = sum(kept.after is None for kept in receipt.files)
    if caches:
        notes.append(f"{caches} compiled cache{'s' * (caches != 1)} of the patched files set aside")
    return notes
