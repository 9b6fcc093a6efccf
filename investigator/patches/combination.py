"""What is seen with several patches applied at once."""

from dataclasses import dataclass, field

from investigator.errors import PatchError
from investigator.model import Patch
from investigator.patches.git import applied
from investigator.patches.verify import Ask, Verdicts, eased, repaired, worse
from investigator.sources.interface import Tree
from investigator.sources.overlay_tree import PatchedTree


@dataclass(frozen=True, kw_only=True)
class Combination:
    """What was seen with several patches applied, in the order of ``patches``.

    ``commute``: any order gives the same bytes. The other three as in PatchProof.
    """

    patches: tuple[str, ...]
    commute: bool
    repaired: tuple[str, ...]
    worse: tuple[str, ...]
    eased: tuple[str, ...] = ()


@dataclass(frozen=True)
class Checker:
    """Applies several patches to the tree and asks again. ``before``: the answers without any."""

    tree: Tree
    ask: Ask
    before: Verdicts
    _known: dict[tuple[str, tuple[bytes | None, ...]], dict[str, bytes]] = field(default_factory=dict)

    def see(self, patches: tuple[Patch, ...]) -> Combination:
        """Apply them in this order and in the opposite one, and put the questions."""
        files = self._after(patches)
        verdicts = self.ask(PatchedTree(self.tree, dict(files))) if files is not None else {}
        return Combination(
            patches=tuple(patch.name for patch in patches),
            commute=files is not None and files == self._after(patches[::-1]),
            repaired=repaired(self.before, verdicts),
            worse=worse(self.before, verdicts),
            eased=eased(self.before, verdicts),
        )

    def _after(self, patches: tuple[Patch, ...]) -> dict[str, bytes] | None:
        files: dict[str, bytes] = {}
        there = set(self.tree.paths())
        for patch in patches:
            inputs = {p: files[p] if p in files else self._read(p, there) for p in patch.files}
            try:
                files |= self._applied(patch, inputs)
            except PatchError:
                return None
        return files

    def _read(self, path: str, there: set[str]) -> bytes | None:
        return self.tree.read(path) if path in there else None

    def _applied(self, patch: Patch, inputs: dict[str, bytes | None]) -> dict[str, bytes]:
        """What git makes of a patch on these files; the same ones are tried once."""
        key = (patch.name, tuple(inputs.values()))
        if key not in self._known:
            present = {path: content for path, content in inputs.items() if content is not None}
            self._known[key] = applied(patch_bytes(patch), present)
        return self._known[key]


def patch_bytes(patch: Patch) -> bytes:
    """The patch file's bytes: its text may stand for bytes of the engine that are not UTF-8."""
    return patch.text.encode("utf-8", "surrogateescape")
