"""Texts with damage done to them: cut off, pieces lost, doubled, swapped, or overwritten."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

_STRANGE = (
    *(b"\x00", b"\xff\xfe", b"\xc3", b"\r", b"\t", b"\\", b"'", b'"""', b"f'{", b"(", b"]", b"{", b":"),
    *(b" = ", b" := ", b"*", b"**", b"lambda", b"yield ", b"await ", b"async ", b"match ", b"@", b"del "),
    *(b"class A(A):\n    pass\n", b"from made import *\n", b"global a\n", b"return", b"\n", b"    ", b"0x"),
)


@st.composite
def damaged(draw: Callable[[Any], Any], texts: st.SearchStrategy[bytes]) -> bytes:
    """A text with one to four wounds."""
    text: bytes = draw(texts)
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        length = draw(st.sampled_from([0, 1, 2, 8, 40, 200]))
        piece = text[start : start + length]
        rest = text[start + length :]
        match draw(st.sampled_from(["cut", "lose", "double", "move", "insert", "overwrite"])):
            case "cut":
                text = text[:start] if draw(st.booleans()) else text[start:]
            case "lose":
                text = text[:start] + rest
            case "double":
                text = text[:start] + piece + piece + rest
            case "move":
                at = draw(st.integers(0, len(rest)))
                text = text[:start] + rest[:at] + piece + rest[at:]
            case "insert":
                text = text[:start] + draw(st.sampled_from(_STRANGE)) + text[start:]
            case _:
                text = text[:start] + draw(st.sampled_from(_STRANGE)) + rest
    return text
