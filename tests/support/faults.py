"""One thing of a release changed: what a call passes, a function returns or assigns, a log line's level."""

from collections.abc import Callable
from typing import TypeAlias

from tree_sitter import Node

from investigator.code.syntax import field, named, text
from tests.support import mutator
from tests.support.mutator import Files

Change: TypeAlias = Callable[[Files], dict[str, bytes]]


def passing(path: str, keyword: str, value: str) -> Change:
    """Every call in a file that passes a keyword passes this value."""

    def other(node: Node) -> str | None:
        return f"{keyword}={value}" if text(field(node, "name")) == keyword else None

    return lambda files: mutator.edit_nodes(files, path, "keyword_argument", other)


def returning(path: str, function: str, value: Callable[[str], str]) -> Change:
    """A function returns something else than it did."""

    def other(node: Node) -> str | None:
        return f"return {value(text(named(node)[0]))}" if mutator.within(node, function) else None

    return lambda files: mutator.edit_nodes(files, path, "return_statement", other)


def assigning(path: str, function: str, target: str, value: Callable[[str], str]) -> Change:
    """A function assigns something else than it did."""

    def other(node: Node) -> str | None:
        right = node.child_by_field_name("right")
        if right is None or text(field(node, "left")) != target or not mutator.within(node, function):
            return None
        return f"{target} = {value(text(right))}"

    return lambda files: mutator.edit_nodes(files, path, "assignment", other)


def handing(path: str, callee: str, index: int, value: str) -> Change:
    """Calls of a function hand it something else in one place."""

    def other(node: Node) -> str | None:
        arguments = named(field(node, "arguments"))
        if not text(field(node, "function")).endswith(callee) or len(arguments) <= index:
            return None
        return text(node).replace(text(arguments[index]), value, 1)

    return lambda files: mutator.edit_nodes(files, path, "call", other)


def both(one: Change, other: Change) -> Change:
    return lambda files: other(one(files))


def logging_at(path: str, function: str, level: str, about: str) -> Change:
    """A log call of a function, found by what it says, has another level."""

    def other(node: Node) -> str | None:
        callee = field(node, "function")
        logs = callee.type == "attribute" and text(field(callee, "object")) == "logger"
        if not logs or about not in text(node) or not mutator.within(node, function):
            return None
        return f"logger.{level}{text(field(node, 'arguments'))}"

    return lambda files: mutator.edit_nodes(files, path, "call", other)


def renaming(path: str, word: str, other: str) -> Change:
    """A text that stands in a file is another one."""

    def changed(node: Node) -> str | None:
        return f'"{other}"' if text(node).strip("\"'") == word else None

    return lambda files: mutator.edit_nodes(files, path, "string", changed)
