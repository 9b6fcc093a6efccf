"""The conditions under which control comes to a statement, read off the statements around it."""

from collections.abc import Iterator

from tree_sitter import Node

from investigator.code.syntax import field as child

_ENDS = ("function_definition", "class_definition", "module", "lambda")
_UNCERTAIN = (
    "for_statement",
    "while_statement",
    "try_statement",
    "except_clause",
    "except_group_clause",
    "else_clause",
    "match_statement",
)


def conditions_around(node: Node) -> Iterator[tuple[Node | None, bool]]:
    """The conditions between a statement and the function, class or module body it stands in,
    innermost first, each with the side on which the statement stands.

    A condition of None: whether the statement is reached cannot be told from a condition (it
    stands in a loop, a ``try``, a ``match``).
    """
    current = node
    while current.parent is not None and current.parent.type not in _ENDS:
        parent = current.parent
        if parent.type in ("if_statement", "elif_clause"):
            yield from of_if(parent, current)
        elif parent.type in _UNCERTAIN and not _belongs_to_if(parent):
            yield None, True
        current = parent


def sides_of(node: Node) -> tuple[list[tuple[Node, Node]], Node | None]:
    """The conditions of an ``if`` statement, each with its block, and the ``else`` block."""
    sides = [(child(node, "condition"), child(node, "consequence"))]
    otherwise: Node | None = None
    for clause in node.children_by_field_name("alternative"):
        if clause.type == "elif_clause":
            sides.append((child(clause, "condition"), child(clause, "consequence")))
        else:
            otherwise = child(clause, "body")
    return sides, otherwise


def _belongs_to_if(clause: Node) -> bool:
    """Whether this is the ``else`` of an ``if``, not of a loop or a ``try``."""
    parent = clause.parent
    return clause.type == "else_clause" and parent is not None and parent.type == "if_statement"


def of_if(parent: Node, current: Node) -> Iterator[tuple[Node, bool]]:
    """The conditions between an ``if`` (or ``elif``) and one of its parts, and their sides."""
    if current == parent.child_by_field_name("consequence"):
        yield child(parent, "condition"), True
    elif parent.type == "if_statement":
        alternatives = parent.children_by_field_name("alternative")
        if current in alternatives:
            yield child(parent, "condition"), False
            for earlier in alternatives:
                if earlier == current:
                    break
                if earlier.type == "elif_clause":
                    yield child(earlier, "condition"), False
