"""Take patches back, byte for byte, from the receipt that apply left."""

from functools import partial
from pathlib import Path

from investigator.errors import PatchError
from investigator.patches.disk import Disk, locked, sha256_of, telling
from investigator.patches.plan import installed_version
from investigator.patches.receipt import ADVICE, Drawer, Kept, Receipt, State
from investigator.patches.shield import shielded


def revert(root: Path, package: str, *, disk: Disk | None = None) -> Receipt:
    """Restore the files of the package in ``root`` as they were before apply.

    An interrupted apply or revert is taken back too. Raises PatchError, and changes nothing, when
    there is nothing to take back, or a patched file is not as apply left it: the package was
    reinstalled or a file was edited since.
    """
    root = root.resolve()
    drawer = Drawer(root, package, disk or Disk())
    with telling(f"taking back what is patched in {root}"), locked(root):
        receipt = drawer.read()
        if receipt is None:
            drawer.clear()
            raise PatchError(f"nothing of {package} in {root} is patched", "there is nothing to take back")
        if receipt.state is State.APPLIED:
            _check(drawer, receipt)
            receipt = drawer.mark(receipt, State.REVERTING)
        try:
            shielded(partial(drawer.restore, receipt))
        except PatchError:
            drawer.restore(receipt)  # the child may have died half way: go on from there
        return receipt


def _check(drawer: Drawer, receipt: Receipt) -> None:
    """Raise PatchError unless every patched file is as apply left it."""
    there = installed_version(drawer.root, receipt.package)
    if there != receipt.version:
        raise PatchError(
            f"{receipt.package} was {receipt.version} when it was patched and is {there} now: "
            "it was reinstalled since, and the originals would not fit",
            f"the patch is gone already; remove {drawer.folder}",
        )
    changed = [
        (kept, _how(drawer, kept))
        for kept in receipt.files
        if kept.after is not None and sha256_of(drawer.target(kept)) != kept.after
    ]
    if changed:
        told = "; ".join(f"{kept.path} {how}" for kept, how in changed)
        raise PatchError(f"not as it was left: {told}", f"nothing was changed; {ADVICE}")


def _how(drawer: Drawer, kept: Kept) -> str:
    current = sha256_of(drawer.target(kept))
    if current is None:
        return "is gone (was the package uninstalled?)"
    if current == kept.before:
        return "is the original again (was the package reinstalled?)"
    return "was edited since it was patched"
