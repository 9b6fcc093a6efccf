"""Parsed files and places in them. Tree-sitter's Python grammar does the parsing.

Tree-sitter accepts files of any Python version and files with errors in them (an ``ERROR``
node then stands where the parser was lost), so a file that is partly strange is still
partly read. Trees are walked with explicit stacks, never by recursion on foreign depth.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import tree_sitter
import tree_sitter_python
from tree_sitter import Node

_LANGUAGE = tree_sitter.Language(tree_sitter_python.language())

MAX_FILE_BYTES = 4 << 20
"""Largest Python file that is parsed; vLLM's largest is about 0.4 MB."""


@dataclass(frozen=True, slots=True)
class Place:
    """Lines of one file; ``line`` and ``end_line`` count from 1, both inclusive."""

    path: str
    line: int
    end_line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


@dataclass(frozen=True)
class ParsedFile:
    """One Python file: its path in the tree, its bytes, and its syntax tree."""

    path: str
    source: bytes
    root: Node

    @cached_property
    def lines(self) -> list[bytes]:
        """The file's lines without their ends."""
        return self.source.splitlines()

    def quote(self, place: Place, limit: int = 3) -> str:
        """The text at a place, at most ``limit`` lines, undecodable bytes replaced."""
        chosen = self.lines[place.line - 1 : min(place.end_line, place.line + limit - 1)]
        return b"\n".join(chosen).decode("utf-8", "replace")


def parse(path: str, source: bytes) -> ParsedFile:
    """Parse one file. Never raises on strange syntax; ``root.has_error`` tells."""
    parser = tree_sitter.Parser(_LANGUAGE)
    return ParsedFile(path, source, parser.parse(source).root_node)


def text(node: Node) -> str:
    """The node's source text."""
    raw = node.text
    return raw.decode("utf-8", "replace") if raw is not None else ""


def field(node: Node, name: str) -> Node:
    """The child in a field that the grammar guarantees. Raises SyntaxError where it is missing."""
    child = node.child_by_field_name(name)
    if child is None:
        raise SyntaxError(f"{node.type} without {name} at line {node.start_point.row + 1}")
    return child


def statements(block: Node) -> list[Node]:
    """The statements of a block or module, comments left out."""
    return [child for child in block.named_children if child.type != "comment"]


def named(node: Node) -> list[Node]:
    """The named children, comments left out."""
    return [child for child in node.named_children if child.type != "comment"]


def descendants(node: Node, *types: str) -> Iterator[Node]:
    """Every node below (and including) ``node`` of the given types, in source order."""
    wanted = frozenset(types)
    stack = [node]
    while stack:
        current = stack.pop()
        if current.type in wanted:
            yield current
        stack.extend(reversed(current.named_children))


def enclosing(node: Node, *types: str) -> Node | None:
    """The nearest ancestor of one of the types."""
    current = node.parent
    while current is not None and current.type not in types:
        current = current.parent
    return current


def definition(node: Node) -> Node:
    """The function or class inside a decorated definition; any other node itself."""
    if node.type == "decorated_definition":
        return field(node, "definition")
    return node


def decorators(node: Node) -> list[str]:
    """Source text of a definition's decorators, without the ``@``."""
    parent = node.parent
    if parent is None or parent.type != "decorated_definition":
        return []
    return [text(child).lstrip("@").strip() for child in parent.children if child.type == "decorator"]


def string_value(node: Node) -> str | None:
    """The value of a plain string literal (no interpolation, no bytes); None for others."""
    if node.type == "concatenated_string":
        parts = [string_value(child) for child in named(node)]
        return None if None in parts else "".join(part for part in parts if part is not None)
    if node.type != "string":
        return None
    prefix = text(node.children[0]).rstrip("\"'").lower()
    if "b" in prefix or any(child.type == "interpolation" for child in node.children):
        return None
    raw = b"".join(
        child.text or b"" for child in node.children if child.type in ("string_content", "escape_sequence")
    ).decode("utf-8", "replace")
    if "r" in prefix or "\\" not in raw:
        return raw
    try:
        return raw.encode("latin-1", "backslashreplace").decode("unicode_escape")
    except UnicodeDecodeError:
        return raw
