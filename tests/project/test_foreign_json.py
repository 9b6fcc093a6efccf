"""Python's JSON reader runs out of recursion on deep nesting: whoever calls it has an answer to that."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
OWN_FILES = {
    "investigator/triage/figures.py",
    "investigator/references/recorded.py",
    "investigator/patches/shield.py",
    "investigator/checkpoints/locate.py",
    "investigator/checkpoints/strict_json.py",
    "investigator/validation/harness.py",
    "investigator/validation/pair.py",
    "investigator/validation/conductor.py",
    "investigator/validation/reference/__main__.py",
    "investigator/validation/reference/checkpoints.py",
    "reports/json_report.py",
}
"""Who reads what this program ships with, has just written, or has measured the depth of."""


def unguarded(tree: ast.AST) -> Iterator[int]:
    """Lines that call ``json.loads`` outside a ``try`` that takes a RecursionError."""
    guarded = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.Try) and any(_takes_recursion(handler) for handler in node.handlers)
        for statement in node.body
        for inner in ast.walk(statement)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "json.loads" and id(node) not in guarded:
            yield node.lineno


def _takes_recursion(handler: ast.ExceptHandler) -> bool:
    names = ast.unparse(handler.type) if handler.type is not None else "Exception"
    return "RecursionError" in names or names == "Exception"


def test_whoever_reads_json_minds_how_deep_it_nests() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for folder in ("investigator", "agents", "reports", "fixtures")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if str(path.relative_to(ROOT)) not in OWN_FILES
        for line in unguarded(ast.parse(path.read_text()))
    ]

    assert found == []
