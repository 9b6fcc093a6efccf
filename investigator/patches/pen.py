"""Write into a parsed file the way the file is written: its indents, line ends and breaks."""

from dataclasses import dataclass
from functools import cached_property
from textwrap import wrap

from tree_sitter import Node

from investigator.code.syntax import ParsedFile, descendants, field, named
from investigator.patches.edits import Edit, line_end

WIDTH = 88
"""Columns that a line may have before it is broken; vLLM's formatter uses this width."""

_STATEMENT = ("block", "module")


class Unfit(Exception):
    """The code is not in a shape that this repair knows. ``str`` says what is different.

    ``instead``: what to do about it, where the repair knows better than the finding.
    """

    def __init__(self, reason: str, instead: str = "") -> None:
        super().__init__(reason)
        self.instead = instead


@dataclass(frozen=True)
class Pen:
    """Makes edits for one file. Lines given to it indent with four spaces a level."""

    file: ParsedFile

    @cached_property
    def end(self) -> str:
        """The file's line end."""
        return line_end(self.file.source).decode()

    @cached_property
    def unit(self) -> str:
        """One level of indentation: how much deeper the file's first block stands."""
        for block in descendants(self.file.root, "block"):
            inner, outer = self.indent(block), self.indent(block.parent or block)
            if inner.startswith(outer) and inner != outer:
                return inner.removeprefix(outer)
        return "    "

    def replace(self, node: Node, text: str) -> Edit:
        """Put ``text`` in a node's place."""
        return Edit(self.file.path, node.start_byte, node.end_byte, text.encode())

    def insert(self, position: int, text: str) -> Edit:
        """Put ``text`` before the byte at ``position``."""
        return Edit(self.file.path, position, position, text.encode())

    def before(self, statement: Node, *lines: str) -> Edit:
        """New lines above a statement, at its indentation."""
        self._alone(statement)
        return self.insert(self._start_of_line(statement.start_byte), self._block(statement, lines))

    def after(self, statement: Node, *lines: str) -> Edit:
        """New lines below a statement, at its indentation."""
        self._alone(statement)
        position = self._after_line(statement.end_byte)
        text = self._block(statement, lines)
        if not self.file.source[:position].endswith(b"\n"):
            text = self.end + text.removesuffix(self.end)
        return self.insert(position, text)

    def argument(self, call: Node, text: str) -> list[Edit]:
        """Append an argument to a call, on its own line where the others have theirs."""
        arguments = field(call, "arguments")
        if arguments.type != "argument_list":
            raise Unfit("a call takes a generator without brackets")
        return self._append(arguments, named(arguments), text)

    def comment(self, statement: Node, text: str) -> list[str]:
        """``text`` as comment lines that keep the width at a statement's indentation."""
        room = WIDTH - len(self.indent(statement).expandtabs(4))
        return wrap(text, room, initial_indent="# ", subsequent_indent="# ")

    def parameter(self, function: Node, text: str) -> list[Edit]:
        """Add a parameter to a function: behind those without a default when it has none itself,
        else at the end, in front of ``**`` where there is one."""
        parameters = field(function, "parameters")
        items = named(parameters)
        if "=" not in text:
            bare = [item for item in items if "default" not in item.type and b"*" not in (item.text or b"")]
            if bare and bare[-1].type == "typed_parameter" and self._own_line(bare[-1]):
                position = self._after_line(bare[-1].end_byte)
                return [self.insert(position, f"{self.indent(bare[-1])}{text},{self.end}")]
        if items and (items[-1].text or b"").startswith(b"**"):
            rest = items[-1]
            if self._own_line(rest):
                start = self._start_of_line(rest.start_byte)
                return [self.insert(start, f"{self.indent(rest)}{text},{self.end}")]
            return [self.insert(rest.start_byte, f"{text}, ")]
        return self._append(parameters, items, text)

    def indent(self, node: Node) -> str:
        """The white space that starts the node's line."""
        line = self.file.source[self._start_of_line(node.start_byte) :]
        return line[: len(line) - len(line.lstrip(b" \t"))].decode()

    def column(self, node: Node) -> int:
        """How many columns stand before the node on its line, a tab counted as four."""
        before = self.file.source[self._start_of_line(node.start_byte) : node.start_byte]
        return len(before.expandtabs(4))

    def fits(self, node: Node, text: str) -> bool:
        """Whether the node's line stays within the width when ``text`` takes the node's place."""
        after = self.file.source[node.end_byte : self._after_line(node.end_byte)].rstrip()
        return self.column(node) + len(text) + len(after) <= WIDTH

    def statement(self, node: Node) -> Node:
        """The statement that a node stands in, alone on its lines. Raises Unfit when it is not."""
        current = node
        while current.parent is not None and current.parent.type not in _STATEMENT:
            current = current.parent
        self._alone(current)
        return current

    def lines_of(self, node: Node) -> tuple[int, int]:
        """The bytes of the lines that hold a node and nothing else but a comma or a comment after it.
        Raises Unfit."""
        start, end = self._start_of_line(node.start_byte), self._after_line(node.end_byte)
        rest = self.file.source[node.end_byte : end].strip().removeprefix(b",").strip()
        if self.file.source[start : node.start_byte].strip(b" \t") or not (
            rest == b"" or rest.startswith(b"#")
        ):
            raise Unfit(f"line {node.start_point.row + 1} holds more than what is to go")
        return start, end

    def _append(self, brackets: Node, items: list[Node], text: str) -> list[Edit]:
        if not items:
            return [self.insert(brackets.end_byte - 1, text)]
        last = items[-1]
        comma = last.next_sibling if last.next_sibling and last.next_sibling.type == "," else None
        tail_line = self._line_of(brackets.end_byte)
        if self._line_of(last.end_byte) != tail_line:
            edits = [] if comma else [self.insert(last.end_byte, ",")]
            line = f"{self.indent(last)}{text}{',' if comma else ''}{self.end}"
            return [*edits, self.insert(self._after_line((comma or last).end_byte), line)]
        if self._line_of(brackets.start_byte) != tail_line:
            return [self.insert(last.end_byte, f",{self.end}{self.indent(last)}{text}")]
        shown = self.file.source[brackets.start_byte : last.end_byte].decode("utf-8", "replace")
        if self.fits(brackets, f"{shown}, {text})"):
            return [self.insert(last.end_byte, f", {text}")]
        return self._explode(brackets, items, text)

    def _explode(self, brackets: Node, items: list[Node], text: str) -> list[Edit]:
        """One item a line, the way a formatter breaks a bracket that got too long."""
        outer = self.indent(brackets)
        lines = [(item.text or b"").decode("utf-8", "strict") for item in items]
        body = "".join(f"{outer}{self.unit}{line},{self.end}" for line in [*lines, text])
        return [self.replace(brackets, f"({self.end}{body}{outer})")]

    def _block(self, statement: Node, lines: tuple[str, ...]) -> str:
        indent = self.indent(statement)
        return "".join(self._line(indent, line) for line in lines)

    def _line(self, indent: str, line: str) -> str:
        stripped = line.lstrip(" ")
        levels = (len(line) - len(stripped)) // 4
        return f"{indent}{self.unit * levels}{stripped}{self.end}" if stripped else self.end

    def _own_line(self, item: Node) -> bool:
        """Whether an item of a bracket starts its line, and its comma ends it."""
        before = self.file.source[self._start_of_line(item.start_byte) : item.start_byte]
        after = self.file.source[item.end_byte : self._after_line(item.end_byte)]
        return not before.strip(b" \t") and after.partition(b"#")[0].strip() == b","

    def _alone(self, statement: Node) -> None:
        """Raise Unfit when a statement shares its first or last line with another one."""
        source = self.file.source
        before = source[self._start_of_line(statement.start_byte) : statement.start_byte]
        after = source[statement.end_byte : self._after_line(statement.end_byte)].strip()
        if before.strip(b" \t") or not (after == b"" or after.startswith(b"#")):
            raise Unfit(f"line {statement.start_point.row + 1} holds more than one statement")

    def _start_of_line(self, position: int) -> int:
        start = self.file.source.rfind(b"\n", 0, position) + 1
        return 3 if start == 0 and self.file.source.startswith(b"\xef\xbb\xbf") else start

    def _after_line(self, position: int) -> int:
        end = self.file.source.find(b"\n", position)
        return len(self.file.source) if end < 0 else end + 1

    def _line_of(self, position: int) -> int:
        return self.file.source.count(b"\n", 0, position)
