"""Python's own source as text to train on and to prompt with: nothing to download.

Files are taken in the order of their names, so that one Python gives one corpus; every
sixteenth file (by the hash of its name) is held out and serves prompts only.
"""

import hashlib
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from investigator.errors import UsageError

MAX_FILE_BYTES = 400_000
_HELD_OUT_OF = 16


def standard_library() -> Path:
    """The folder of this Python's standard library."""
    return Path(sysconfig.get_path("stdlib"))


def installed_packages() -> Path:
    """The folder of this Python's installed packages."""
    return Path(sysconfig.get_path("purelib"))


def is_held_out(name: str) -> bool:
    """Whether the file ``name`` (relative, with slashes) serves prompts and not training."""
    return hashlib.sha256(name.encode()).digest()[0] % _HELD_OUT_OF == 0


def _files(root: Path, skip: frozenset[str]) -> Iterator[tuple[str, Path]]:
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).parts
        if not skip.intersection(parts) and path.is_file() and 0 < path.stat().st_size <= MAX_FILE_BYTES:
            yield "/".join(parts), path


def _texts(root: Path, skip: frozenset[str], held_out: bool) -> Iterator[str]:
    for name, path in _files(root, skip):
        if is_held_out(name) == held_out:
            try:
                text = path.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError):
                continue
            yield text


def training_texts(limit: int, with_packages: bool = True) -> list[str]:
    """Whole files, the standard library first, until ``limit`` bytes are reached."""
    nested = frozenset({"site-packages", "dist-packages", "__pycache__"})
    texts: list[str] = []
    size = 0
    roots = [standard_library(), *([installed_packages()] if with_packages else [])]
    for root in roots:
        for text in _texts(root, nested, held_out=False):
            if size >= limit:
                return texts
            texts.append(text)
            size += len(text)
    return texts


def prompt_texts(count: int, characters: int) -> list[str]:
    """``count`` pieces of at least ``characters`` from the held-out files of the standard library.

    The first piece of every file comes before the second of any, so that prompts come from as
    many files as there are. Raises UsageError when the library holds too few.
    """
    skip = frozenset({"site-packages", "dist-packages", "__pycache__", "test", "tests", "idlelib"})
    whole = [text for text in _texts(standard_library(), skip, held_out=True) if text.isascii()]
    deepest = max((len(text) // characters for text in whole), default=0)
    pieces = [
        text[depth * characters : (depth + 1) * characters]
        for depth in range(deepest)
        for text in whole
        if len(text) >= (depth + 1) * characters
    ]
    if len(pieces) < count:
        raise UsageError(
            f"the standard library, where prompts come from, holds {len(pieces)} of {characters} characters",
            "give fewer --prompts, fewer --prompt-tokens, or a file with --prompts",
        )
    return pieces[:count]


def digest(texts: list[str]) -> str:
    """SHA-256 over all texts in order."""
    whole = hashlib.sha256()
    for text in texts:
        whole.update(text.encode())
        whole.update(b"\0")
    return whole.hexdigest()
