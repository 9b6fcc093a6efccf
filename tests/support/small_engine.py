"""An engine of three small files whose promises are read off its text, for pull requests to change.

``ask`` stands for the contracts' questions: it finds what a line of the text decides.
"""

from datetime import UTC, datetime

from investigator.model import Evidence, Origin, Runner, Source, SourceKind, Verdict
from investigator.patches.verify import Question, Verdicts
from investigator.sources.diff_reader import ChangedFile, hunks_between, read_diff
from investigator.sources.interface import Tree
from investigator.sources.text_tree import TextTree

OFFSET: Question = ("target-layer-offset", Runner.V1)
DROP: Question = ("cache-drop", None)

WORKER = b"""\
# the worker
import os

def aux_layers(config):
    ids = config.target_layer_ids
    return tuple(ids)


def other():
    return 1
"""
SCHEDULER = b"""\
# the scheduler
class Scheduler:
    def __init__(self, config):
        self.drop_last = config.use_eagle()
        self.size = 16

    def step(self):
        return self.drop_last
"""
FIXED_WORKER = WORKER.replace(b"tuple(ids)", b"tuple(layer + 1 for layer in ids)")
FIXED_SCHEDULER = SCHEDULER.replace(b"config.use_eagle()", b"config.use_eagle() and not config.use_dflash()")


def engine(**changed: bytes) -> TextTree:
    """The engine as it is, or with another ``worker`` or ``scheduler``."""
    source = Source(
        id="vllm",
        kind=SourceKind.FOLDER,
        name="vllm",
        revision="1.0",
        origin=Origin.LOCAL,
        retrieved_at=datetime(2026, 10, 1, tzinfo=UTC),
    )
    contents = {
        "vllm/worker.py": changed.get("worker", WORKER),
        "vllm/scheduler.py": changed.get("scheduler", SCHEDULER),
        "vllm/__init__.py": b"",
    }
    return TextTree(source, contents)


def ask(tree: Tree) -> Verdicts:
    """What the two promises come to on this tree."""
    worker, scheduler = tree.read("vllm/worker.py"), tree.read("vllm/scheduler.py")
    return {
        OFFSET: Verdict.HONOURED if b"layer + 1" in worker else Verdict.BROKEN,
        DROP: Verdict.HONOURED if b"not config.use_dflash" in scheduler else Verdict.BROKEN,
    }


def quoted(tree: Tree, path: str, text: str) -> Evidence:
    """The line of a file that holds ``text``, as evidence."""
    lines = tree.read(path).decode().split("\n")
    (number,) = [number for number, line in enumerate(lines, 1) if text in line]
    return Evidence(source="vllm", path=path, line=number, end_line=number, quote=lines[number - 1])


def diff(**files: tuple[bytes, bytes]) -> bytes:
    """A diff in git's form; ``worker=(before, after)`` is a change of ``vllm/worker.py``."""
    parts = []
    for name, (before, after) in files.items():
        path = f"vllm/{name}.py".encode()
        parts.append(b"diff --git a/%b b/%b\n--- a/%b\n+++ b/%b\n" % (path, path, path, path))
        parts.append(hunks_between(before, after))
    return b"".join(parts)


def changes(**files: tuple[bytes, bytes]) -> tuple[ChangedFile, ...]:
    """The same, read."""
    return read_diff(diff(**files), "some/engine#1")
