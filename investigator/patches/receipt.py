"""What is written down before an engine is touched: enough to take everything back.

A receipt lies in ``.investigate/<package>/`` inside the patched folder, so it goes where the
folder goes. ``originals/`` holds the files as they were, ``receipt.json`` says what they are. The
receipt is there, complete and durable, before the first file changes; its ``state`` tells an
interrupted run from a finished one. A folder without ``receipt.json`` means nothing has changed.
"""

import glob
import json
import shutil
from collections.abc import Collection
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path

from investigator.errors import PatchError, what_is_wrong
from investigator.patches.diff import check_path
from investigator.patches.disk import Disk, sha256_of

FOLDER = ".investigate"
NEW = ".investigate-new"
"""How the name of a file ends that is written and not in its place yet."""
_FILE = "receipt.json"
_SCHEMA = 1


class State(StrEnum):
    """``applying``, ``reverting``: an interrupted one; the files may be old or new."""

    APPLYING = "applying"
    APPLIED = "applied"
    REVERTING = "reverting"


@dataclass(frozen=True, kw_only=True)
class Kept:
    """One file: its hashes before and after. ``after`` None: it was removed (a compiled cache)."""

    path: str
    before: str
    after: str | None


@dataclass(frozen=True, kw_only=True)
class Receipt:
    """``version``: of the package when it was patched, where it is known. ``time``: ISO 8601."""

    state: State
    package: str
    version: str | None
    time: str
    patches: tuple[str, ...]
    files: tuple[Kept, ...]


@dataclass(frozen=True)
class Drawer:
    """The place of one package's receipt inside ``root``."""

    root: Path
    package: str
    disk: Disk

    @property
    def folder(self) -> Path:
        """Where the receipt and the originals lie."""
        return self.root / FOLDER / self.package

    def original(self, number: int) -> Path:
        """The original of the receipt's ``number``-th file."""
        return self.folder / "originals" / str(number)

    def target(self, kept: Kept) -> Path:
        """Where the file belongs."""
        return self.root / kept.path

    def new(self, kept: Kept) -> Path:
        """The name of the new content until it takes the file's place."""
        target = self.target(kept)
        return target.with_name(f".{target.name}{NEW}")

    def read(self) -> Receipt | None:
        """The receipt, if there is one. Raises PatchError when it cannot be understood."""
        try:
            said = json.loads((self.folder / _FILE).read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError) as error:
            raise self._unreadable(error) from None
        try:
            if said["schema"] != _SCHEMA:
                raise ValueError(f"schema {said['schema']}")
            files = tuple(Kept(path=f["path"], before=f["before"], after=f["after"]) for f in said["files"])
            for kept in files:
                check_path(kept.path)
            return Receipt(
                state=State(said["state"]),
                package=str(said["package"]),
                version=said["version"],
                time=str(said["time"]),
                patches=tuple(map(str, said["patches"])),
                files=files,
            )
        except (KeyError, TypeError, ValueError) as error:
            raise self._unreadable(error) from None

    def begin(self, receipt: Receipt) -> None:
        """Keep the originals and write the receipt. Nothing outside the drawer changes."""
        self.clear()
        (self.folder / "originals").mkdir(parents=True)
        # A checkout does not show the drawer as an untracked file.
        (self.root / FOLDER / ".gitignore").write_text("*\n")
        for number, kept in enumerate(receipt.files):
            self.disk.keep(self.target(kept), self.original(number))
        self.write(receipt)
        for folder in (self.folder / "originals", self.folder, self.root / FOLDER, self.root):
            self.disk.sync(folder)

    def write(self, receipt: Receipt) -> None:
        """Put a receipt in the place of the one that is there."""
        fresh = self.folder / f"{_FILE}{NEW}"
        self.disk.remove(fresh)
        text = json.dumps({"schema": _SCHEMA, **asdict(receipt)}, indent=1)
        self.disk.create(fresh, text.encode() + b"\n")
        self.disk.replace(fresh, self.folder / _FILE)
        self.disk.sync(self.folder)

    def mark(self, receipt: Receipt, state: State) -> Receipt:
        """Write the receipt with another state."""
        marked = replace(receipt, state=state)
        self.write(marked)
        return marked

    def clear(self) -> None:
        """Remove the drawer: the receipt first, so that what is left of it means nothing."""
        self.disk.remove(self.folder / _FILE)
        shutil.rmtree(self.folder, ignore_errors=True)
        shared = self.root / FOLDER
        if shared.is_dir() and all(entry.name == ".gitignore" for entry in shared.iterdir()):
            shutil.rmtree(shared, ignore_errors=True)

    def restore(self, receipt: Receipt, *, spare: Collection[Kept] = ()) -> None:
        """Put every original back, whether its file is new already or still old; then remove the
        drawer. Compiled caches that were made meanwhile go away.

        ``spare``: files that someone else has written and that stay as they are. Raises PatchError,
        before anything changes, when another file is neither old nor new, or an original is not
        what it was.
        """
        todo = []
        for number, kept in enumerate(receipt.files):
            if kept in spare:
                continue
            original, current = self.original(number), sha256_of(self.target(kept))
            if current == kept.before:
                continue
            if kept.after is not None and current != kept.after:
                raise PatchError(f"{self.target(kept)} was changed since it was patched", ADVICE)
            if sha256_of(original) != kept.before:
                raise PatchError(f"{original} is not the original of {kept.path} any more", ADVICE)
            todo.append((original, kept))
        for original, kept in todo:
            if kept.after is not None:
                self.disk.replace(original, self.target(kept))
        for kept in receipt.files:
            self.disk.remove(self.new(kept))
            for cache in compiled(self.target(kept)):
                if kept.after is not None and sha256_of(cache) not in {k.before for k in receipt.files}:
                    self.disk.remove(cache)
        for original, kept in todo:
            if kept.after is None and self.target(kept).parent.is_dir():
                self.disk.replace(original, self.target(kept))
        for folder in {self.target(kept).parent for kept in receipt.files}:
            if folder.is_dir():
                self.disk.sync(folder)
        self.clear()

    def _unreadable(self, error: Exception) -> PatchError:
        return PatchError(f"the receipt in {self.folder} cannot be read: {what_is_wrong(error)}", ADVICE)


ADVICE = "reinstall the engine, then remove the .investigate folder"


def compiled(source: Path) -> list[Path]:
    """The compiled caches of a Python file, of every interpreter and optimisation level."""
    if source.suffix != ".py":
        return []
    return sorted((source.parent / "__pycache__").glob(f"{glob.escape(source.stem)}.*.pyc"))
