"""Imports point one way: a room knows the rooms below it, and nothing above."""

import ast
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = {
    "investigator": "investigator",
    "agents": "investigator.agents",
    "reports": "investigator.reports",
    "fixtures": "investigator.fixtures",
}

LAYERS = (
    {"model", "errors", "fixtures"},
    {"case", "checkpoint", "events", "settings", "explain"},
    {"methods"},
    {"checkpoints"},
    {"sources", "log", "run_folder", "outcome", "remedies", "history", "comparison"},
    {"code", "evidence_check", "baseline"},
    {"engines"},
    {"references"},
    {"contracts"},
    {"synthesizer", "patches", "triage"},
    {"pull_requests"},
    {"agents", "validation"},
    {"run", "compare"},
    {"conduct"},
    {"reports", "kept_repairs"},
    {"repairing"},
    {"timeline"},
    {"team"},
    {"api"},
    {"commands"},
    {"cli"},
    {"__main__"},
)
"""From the ground up. A room may import any room of a lower layer, unless NEVER says otherwise."""

NEVER = {
    "synthesizer": {"sources", "code", "engines", "checkpoints"},  # it judges answers and reads no source
    "contracts": {"sources"},
    "code": {"checkpoint", "checkpoints", "case"},  # it follows values and knows no drafter
    "agents": {"synthesizer", "patches", "triage", "pull_requests"},  # they answer and never judge
    "reports": {"sources", "code", "engines", "contracts", "agents", "run", "conduct", "patches", "compare"},
}


def imports() -> dict[str, dict[str, set[str]]]:
    """Room -> imported room -> the modules that do it. Annotations' imports count too."""
    seen: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for folder, prefix in FOLDERS.items():
        for path in (ROOT / folder).rglob("*.py"):
            module = ".".join((prefix, *path.relative_to(ROOT / folder).with_suffix("").parts))
            room = module.removesuffix(".__init__").split(".")[1:2]
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                for name in imported(node):
                    if room and name != room[0]:
                        seen[room[0]][name].add(module)
    return seen


def imported(node: ast.AST) -> set[str]:
    """The rooms that one statement imports."""
    names: list[str] = []
    if isinstance(node, ast.ImportFrom):
        assert node.level == 0, "imports are absolute"
        module = node.module or ""
        names = [f"{module}.{alias.name}" for alias in node.names] if module == "investigator" else [module]
    elif isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    return {name.split(".")[1] for name in names if name.startswith("investigator.")} - {"__version__"}


IMPORTS = imports()
LEVEL = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}


def test_every_room_has_its_layer():
    assert set(IMPORTS) | {name for found in IMPORTS.values() for name in found} <= set(LEVEL)


@pytest.mark.parametrize("room", sorted(IMPORTS))
def test_a_room_knows_only_what_is_below_it(room):
    upward = {
        f"{module} imports {name}"
        for name, modules in IMPORTS[room].items()
        for module in modules
        if LEVEL[name] >= LEVEL[room] or name in NEVER.get(room, ())
    }

    assert upward == set()


def test_the_architecture_document_names_every_room():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rooms = [p for p in (ROOT / "investigator").iterdir() if (p / "__init__.py").exists()]

    assert [room.name for room in rooms if f"`investigator/{room.name}/`" not in text] == []


def test_nothing_fetched_is_run():
    """No eval, exec, pickle or import of a computed name where foreign text is at hand."""
    forbidden = {"eval", "exec", "compile", "__import__"}
    calls = set()
    for folder in ("investigator/code", "investigator/sources", "investigator/checkpoints", "agents"):
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if (
                    isinstance(node, ast.Call)
                    and isinstance(node.func, ast.Name)
                    and node.func.id in forbidden
                ):
                    calls.add(f"{path.name}:{node.lineno} {node.func.id}")
                if isinstance(node, ast.Import | ast.ImportFrom) and "pickle" in ast.dump(node):
                    calls.add(f"{path.name}:{node.lineno} pickle")

    assert calls == set()
