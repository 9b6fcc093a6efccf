"""Small wheels of our own writing, sound ones and ones that lie."""

import base64
import hashlib
import io
import zipfile
from collections.abc import Mapping

ENGINE_FILES: Mapping[str, bytes] = {
    "vllm/__init__.py": b'"""A miniature."""\n',
    "vllm/config.py": b"BLOCK = 16\n" * 40,
    "vllm/worker/runner.py": b"def run(ids):\n    return [i + 1 for i in ids]\n",
    "vllm/worker/empty.py": b"",
}
"""A miniature engine; nothing of it is a real one's."""


def record_row(path: str, data: bytes) -> str:
    """One line of RECORD, written out by the specification."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{path},sha256={digest},{len(data)}"


def build_wheel(
    name: str = "vllm",
    version: str = "0.20.1",
    files: Mapping[str, bytes] = ENGINE_FILES,
    *,
    record: bytes | None = None,
    compression: int = zipfile.ZIP_DEFLATED,
    padding: int = 0,
) -> bytes:
    """A wheel; ``record`` replaces the right RECORD, ``padding`` bytes of ballast stand first."""
    info = f"{name}-{version}.dist-info"
    members = dict(files)
    if padding:
        members = {f"{name}/_ballast.so": incompressible(padding), **members}
    members[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode()
    if record is None:
        rows = [record_row(path, data) for path, data in members.items()]
        record = "\n".join([*rows, f"{info}/RECORD,,", ""]).encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for path, data in members.items():
            archive.writestr(path, data)
        archive.writestr(f"{info}/RECORD", record)
    return buffer.getvalue()


def incompressible(size: int) -> bytes:
    """Bytes that deflate cannot shrink, the same each time."""
    blocks = (hashlib.sha256(str(n).encode()).digest() for n in range(size // 32 + 1))
    return b"".join(blocks)[:size]


def wheel_name(name: str = "vllm", version: str = "0.20.1", build: str = "", platform: str = "any") -> str:
    """A wheel's file name; the tags of vLLM's own wheels where a platform is named."""
    tags = "py3-none-any" if platform == "any" else f"cp38-abi3-{platform}"
    return "-".join(part for part in (name, version, build, tags) if part) + ".whl"
