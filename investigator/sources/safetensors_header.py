"""The shapes in a safetensors file, from its first bytes; the weights are never read.

The file begins with the header's length (8 bytes, little endian) and the header (JSON:
tensor name -> dtype, shape, offsets). Source: the safetensors format description.
"""

from collections.abc import Mapping
from pathlib import Path

from investigator.checkpoints.fields import Fields
from investigator.checkpoints.strict_json import MAX_BYTES, read_object
from investigator.errors import IntegrityError, LimitError
from investigator.sources.transport import Credential, Transport

FIRST_BYTES = 64 * 1024
MAX_RANK = 8


def read_header(
    transport: Transport, url: str, name: str, credential: Credential | None = None
) -> Mapping[str, tuple[int, ...]]:
    """Tensor name -> shape, in one request or two.

    Raises IntegrityError for what is no safetensors header, LimitError for one over 4 MiB,
    SourceError when the server refuses or does not serve ranges.
    """
    first = _range(transport, url, name, credential, 0, FIRST_BYTES)
    if len(first) < 8:
        raise IntegrityError(f"{name} is shorter than a safetensors header", "look at the repository")
    length = int.from_bytes(first[:8], "little")
    if length > MAX_BYTES:
        raise LimitError(
            f"{name} has a header of {length:,} bytes; at most {MAX_BYTES:,} are read",
            "look at the repository",
        )
    header = first[8 : 8 + length]
    if len(header) < length:
        header += _range(transport, url, name, credential, 8 + len(header), length - len(header))
    if len(header) != length:
        raise IntegrityError(f"{name} ends within its header", "the file is cut off; look at the repository")
    return parse_header(header, name)


def read_local_header(path: Path) -> Mapping[str, tuple[int, ...]]:
    """Tensor name -> shape of a file on this machine; only its header is read.

    Raises IntegrityError, LimitError, UsageError, or OSError when it cannot be read.
    """
    with path.open("rb") as file:
        first = file.read(8)
        length = int.from_bytes(first, "little")
        if len(first) == 8 and length > MAX_BYTES:
            raise LimitError(
                f"{path.name} has a header of {length:,} bytes; at most {MAX_BYTES:,} are read",
                "look at the file",
            )
        header = file.read(length) if len(first) == 8 else b""
    if len(first) < 8 or len(header) < length:
        raise IntegrityError(f"{path.name} ends within its header", "the file is cut off")
    return parse_header(header, path.name)


def parse_header(header: bytes, name: str) -> Mapping[str, tuple[int, ...]]:
    """Tensor name -> shape. Raises UsageError or IntegrityError for what is no header."""
    shapes: dict[str, tuple[int, ...]] = {}
    entries = Fields(read_object(header, f"the header of {name}"), f"the header of {name}")
    for tensor in entries.values:
        if tensor == "__metadata__":
            continue
        shape = entries.section(tensor).values.get("shape")
        if not isinstance(shape, list) or len(shape) > MAX_RANK:
            raise IntegrityError(f"{name} has no shape for {tensor[:80]!r}", "it is not a safetensors file")
        sizes = [size for size in shape if isinstance(size, int) and not isinstance(size, bool) and size >= 0]
        if len(sizes) != len(shape):
            raise IntegrityError(
                f"{name} has a strange shape for {tensor[:80]!r}", "it is not a safetensors file"
            )
        shapes[tensor] = tuple(sizes)
    return shapes


def _range(
    transport: Transport, url: str, name: str, credential: Credential | None, start: int, size: int
) -> bytes:
    return transport.get(
        url,
        what=name,
        source="draft",
        headers={"Range": f"bytes={start}-{start + size - 1}", "Accept-Encoding": "identity"},
        credential=credential,
        expect=(206,),
        limit=size,
    ).body
