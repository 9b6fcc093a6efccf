"""Parsed files and places in them. Tree-sitter's Python grammar does the parsing.

Tree-sitter accepts files of any Python version and files with errors in them (an ``ERROR``
node then stands where the parser was lost), so a file that is partly strange is still
partly read. Trees are walked with explicit stacks, never by recursion on foreign depth.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import tree_sitter
import tree_sitter_python
from tree_sitter import Node

_LANGUAGE = tree_sitter.Language(tree_sitter_python.language())

MAX_FILE_BYTES = 2 << 20
"""Largest Python file that is parsed; the engines' largest have about 0.4 MB. A syntax tree takes up
to 300 times its file's size."""


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
        """The file's lines without their ends; lines end where the parser counts them."""
        return [line.removesuffix(b"\r") for line in self.source.split(b"\n")]

    def quote(self, place: Place, limit: int = 3) -> str:
        """The text at a place, at most ``limit`` lines, undecodable bytes replaced."""
        chosen = self.lines[place.line - 1 : min(place.end_line, place.line + limit - 1)]
        return b"\n".join(chosen).decode("utf-8", "replace")

    def unreadable(self, node: Node) -> bool:
        """Whether some of a node's text could not be parsed, or was not parsed as Python parses it."""
        return node.has_error or any(node.start_byte < at < node.end_byte for at in self._swallowed)

    @cached_property
    def _swallowed(self) -> tuple[int, ...]:
        """The bytes at which statements begin that the grammar took for more of the statement before.

        It takes ``a = b, c(d)`` and a next line ``(e).f = g`` for one statement ``a = b, c(d)(e).f = g``,
        and finds no error in it (tree-sitter-python 0.23 to 0.25).
        """
        return tuple(at for at in _brackets_on_next_line(self.source) if _swallows(self.root, at))


_BRACKET = re.compile(rb"\n[ \t\f]*(?=[(\[])")
_GOES_ON = b"([{,:=+-*/%&|^~<>@!.\\"
"""What a line ends with that does not end a statement."""


def _brackets_on_next_line(source: bytes) -> Iterator[int]:
    """Where lines begin with a bracket, but for those after a line that plainly goes on."""
    for match in _BRACKET.finditer(source):
        before = source[max(0, match.start() - 200) : match.start()].rstrip()
        last = before[before.rfind(b"\n") + 1 :]
        if not last or b"#" in last or last[-1] not in _GOES_ON:
            yield match.end()


def _swallows(root: Node, at: int) -> bool:
    """Whether the bracket at a byte begins a line, and yet neither a statement nor a part in brackets."""
    node = root.descendant_for_byte_range(at, at + 1)
    while node is not None and node.parent is not None:
        if node.start_byte == at and node.parent.type in ("block", "module"):
            return False
        if node.type in ("string", "comment", "ERROR"):
            return False
        if any(child.type in ("(", "[", "{") and child.start_byte < at for child in node.children):
            return False
        node = node.parent
    return True


def parse(path: str, source: bytes) -> ParsedFile:
    """Parse one file. Never raises on strange syntax; ``ParsedFile.unreadable`` tells."""
    parser = tree_sitter.Parser(_LANGUAGE)
    return ParsedFile(path, source, parser.parse(source).root_node)


def text(node: Node) -> str:
    """The node's source text."""
    raw = node.text
    return raw.decode("utf-8", "replace") if raw is not None else ""


def head(file: ParsedFile, node: Node, limit: int = 80) -> str:
    """The beginning of the node's source text, at most ``limit`` bytes of it."""
    return file.source[node.start_byte : min(node.end_byte, node.start_byte + limit)].decode(
        "utf-8", "replace"
    )


def field(node: Node, name: str) -> Node:
    """The child in a field that the grammar guarantees. Raises SyntaxError where it is missing."""
    child = node.child_by_field_name(name)
    if child is None:
        raise SyntaxError(f"{node.type} without {name} at line {node.start_point.row + 1}")
    return child.named_children[0] if child.type == "list_splat" else child


def is_starred(element: Node) -> bool:
    """Whether an element of a display is unpacked. The grammar takes ``[*a.b(c)]`` for
    ``(*a).b(c)`` when it stands first: the star is then found at the bottom (see ``field``)."""
    return element.type == "parenthesized_list_splat" or (element.text or b"").startswith(b"*")


def statements(block: Node) -> list[Node]:
    """The statements of a block or module, comments left out."""
    return [child for child in block.named_children if child.type != "comment"]


def named(node: Node) -> list[Node]:
    """The named children, comments left out."""
    return [child for child in node.named_children if child.type != "comment"]


def first(node: Node) -> Node:
    """The first named child. Raises SyntaxError where there is none."""
    found = named(node)
    if not found:
        raise SyntaxError(f"empty {node.type} at line {node.start_point.row + 1}")
    return found[0]


def descendants(node: Node, *types: str) -> Iterator[Node]:
    """Every node below (and including) ``node`` of the given types, in source order."""
    wanted = frozenset(types)
    stack = [node]
    while stack:
        current = stack.pop()
        if current.type in wanted:
            yield current
        stack.extend(reversed(current.named_children))


def descendants_at(node: Node, place: Place, *types: str) -> Iterator[Node]:
    """Those descendants that stand on any line of a place, at least in part; what stands apart from it
    is not walked through."""
    wanted = frozenset(types)
    stack = [node]
    while stack:
        current = stack.pop()
        if current.end_point.row + 1 < place.line or place.end_line < current.start_point.row + 1:
            continue
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


def string_prefix(node: Node) -> str:
    """The letters before a string literal's quotes, in lower case."""
    return _prefix(node.children[0])


def _prefix(opening: Node) -> str:
    return text(opening).rstrip("\"'").lower()


def plain_text(prefix: str, piece: Node) -> str | None:
    """What a piece of a string literal with this prefix stands for, if it is no interpolation; None
    where its bytes are no UTF-8."""
    if piece.type not in ("string_content", "escape_sequence", "escape_interpolation"):
        return ""
    try:
        raw = (piece.text or b"").decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError:
        return None
    if "f" in prefix or "t" in prefix:
        raw = raw.replace("{{", "{").replace("}}", "}")
    if "r" in prefix or "\\" not in raw:
        return raw
    try:
        return raw.encode("latin-1", "backslashreplace").decode("unicode_escape")
    except UnicodeDecodeError:
        return raw


def string_value(node: Node) -> str | None:
    """The value of a plain string literal (no interpolation, no bytes, all of it UTF-8); None
    for others."""
    if node.type == "concatenated_string":
        return _joined([string_value(child) for child in named(node)])
    pieces = node.children
    if node.type != "string" or not pieces:
        return None
    prefix = _prefix(pieces[0])
    if "b" in prefix or any(piece.type == "interpolation" for piece in pieces):
        return None
    return _joined([plain_text(prefix, piece) for piece in pieces])


def asked_for(expression: Node) -> tuple[Node, str] | None:
    """``x`` and ``a`` for ``x.a`` and ``getattr(x, "a")``; None for anything else."""
    if expression.type == "attribute":
        return field(expression, "object"), text(field(expression, "attribute"))
    if expression.type != "call" or text(field(expression, "function")) != "getattr":
        return None
    given = named(field(expression, "arguments"))
    name = string_value(given[1]) if len(given) == 2 else None
    return (given[0], name) if name is not None else None


def _joined(parts: list[str | None]) -> str | None:
    return None if None in parts else "".join(part for part in parts if part is not None)
