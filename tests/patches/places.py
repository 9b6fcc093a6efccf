"""The toy engine as it lies on a disk: an installation with RECORD and compiled caches."""

import atexit
import base64
import hashlib
import os
import py_compile
import shutil
import stat
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from investigator.patches import generate, patch_bytes
from investigator.patches.git import applied
from investigator.patches.plan import NamedPatch
from tests.patches import miniature
from tests.patches.miniature import FILES

PATCHED = (
    "vllm/config/speculative.py",
    "vllm/v1/core/kv_cache_utils.py",
    "vllm/v1/core/sched/scheduler.py",
)
"""The files that :func:`patches` touch."""


@cache
def patches() -> tuple[NamedPatch, ...]:
    """Two patches for the toy, three files between them, one of them in both."""
    series = generate(
        miniature.tree(),
        [miniature.fault(contract) for contract in ("cache-drop", "lookahead")],
        miniature.judge(),
        engine="vllm 0",
        when=datetime(2026, 4, 27, tzinfo=UTC),
    )
    return tuple(NamedPatch(patch.name, patch_bytes(patch)) for patch in series.patches)


def install(root: Path) -> Path:
    """The toy in a site-packages folder, with a dist-info and a compiled cache of each file."""
    shutil.copytree(_installed(), root)
    return root


@cache
def _installed() -> Path:
    root = Path(tempfile.mkdtemp(prefix="investigate-toy-"))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    rows = []
    for path, text in FILES.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        os.utime(file, (1_700_000_000, 1_700_000_000))
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        rows.append(f"{path},sha256={digest},{len(text)}")
        py_compile.compile(str(file))
    info = root / "vllm-1.0.dist-info"
    info.mkdir()
    (info / "RECORD").write_text("\n".join([*rows, f"{info.name}/RECORD,,", ""]))
    (root / "vllm" / "__init__.py").touch()
    return root


@dataclass(frozen=True)
class Entry:
    """What a file is, as far as a person could tell."""

    content: bytes
    mode: int
    modified: int
    link: str | None


def state(root: Path) -> dict[str, Entry]:
    """Every file below ``root``, and every folder."""
    found = {}
    for path in sorted(root.rglob("*")):
        about = path.lstat()
        content = b"" if path.is_dir() else path.read_bytes()
        link = str(path.readlink()) if path.is_symlink() else None
        modified = 0 if path.is_dir() else about.st_mtime_ns
        found[path.relative_to(root).as_posix()] = Entry(content, stat.S_IMODE(about.st_mode), modified, link)
    return found


def sources(root: Path) -> dict[str, bytes]:
    """The toy's files as they are now."""
    return {path: (root / path).read_bytes() for path in FILES}


OLD = {path: text.encode() for path, text in FILES.items()}


def remembered(patch: bytes, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """What git makes of a patch, asked once."""
    return dict(_applied(patch, tuple(sorted(files.items()))))


@cache
def _applied(patch: bytes, files: tuple[tuple[str, bytes], ...]) -> dict[str, bytes]:
    return applied(patch, dict(files))


@cache
def new() -> dict[str, bytes]:
    """The toy's files once the patches are in."""
    files = dict(OLD)
    for patch in patches():
        files |= applied(patch.content, files)
    return files
