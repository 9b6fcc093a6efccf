"""Imports point one way, as the picture in docs/architecture.md has it.

The layers and what a room must never import are read from that page, so picture and test cannot differ.
Every import counts: at the top, inside a function, under TYPE_CHECKING, and by name through importlib.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = {
    "investigator": "investigator",
    "agents": "investigator.agents",
    "reports": "investigator.reports",
    "fixtures": "investigator.fixtures",
}
FACE = "investigator"
"""The package itself: its version is for everyone, and it hands on the Python interface when asked."""

LOADED_BY_NAME = {"investigator.engines.registry"}
"""Modules that load what another distribution registered, so that the name cannot be read in the code."""

MUTUAL = "code"
"""The one room whose modules know each other: an expression holds calls, and a call runs statements."""

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def table(heading: str) -> list[list[str]]:
    """The rows of the table under a heading of the page, without its head."""
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows[2:]]


def rooms(cell: str) -> set[str]:
    """``investigator/code/``, ``agents/`` and ``investigator/cli.py`` are the rooms code, agents and cli."""
    places = re.findall(r"`(?:investigator/)?(\w+)(?:/|\.py)`", cell)
    assert len(places) == cell.count("`") // 2, cell
    return set(places)


LAYERS = [rooms(row[0]) for row in sorted(table("Rooms"), key=lambda row: int(row[1]))]
LEVEL = {room: level for level, found in enumerate(LAYERS) for room in found}
NEVER = {room: rooms(row[1]) for row in table("Never") for room in rooms(row[0])}


def modules() -> dict[str, ast.Module]:
    """Every module under the name by which it is imported."""
    found = {}
    for folder, package in FOLDERS.items():
        for path in (ROOT / folder).rglob("*.py"):
            name = ".".join((package, *path.relative_to(ROOT / folder).with_suffix("").parts))
            found[name.removesuffix(".__init__")] = ast.parse(path.read_text(encoding="utf-8"))
    return found


def imported(tree: ast.AST) -> Iterator[str]:
    """The dotted names that any statement or expression of a module brings in."""
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=module, names=aliases, level=level):
                assert level == 0, "imports are absolute"
                yield from (f"{module}.{alias.name}" for alias in aliases)
            case ast.Import(names=aliases):
                yield from (alias.name for alias in aliases)
            case ast.Attribute(value=ast.Name(id="investigator"), attr=attribute):
                yield f"investigator.{attribute}"
            case ast.Call(func=ast.Attribute(attr=called) | ast.Name(id=called), args=[first, *_]) if (
                called in {"import_module", "__import__", "run_module"}
            ):
                yield written(first)


def written(argument: ast.expr) -> str:
    """What can be read of a module's name that is handed over as a text: "?" for nothing."""
    match argument:
        case ast.Constant(value=str(name)) | ast.JoinedStr(values=[ast.Constant(value=str(name)), *_]):
            return name
    return "?"


def room_of(name: str) -> str:
    """``investigator.code.lazy.instance`` stands in code; the package and its version nowhere."""
    inside = name.removeprefix(FACE).split(".")[1:2]
    return "".join(set(inside) - {"__version__", "__file__"})


MODULES = modules()
IMPORTS: dict[str, set[str]] = {name: set(imported(tree)) for name, tree in MODULES.items()}


def arrows() -> dict[str, dict[str, set[str]]]:
    """Room -> room that it imports -> the modules that do so."""
    seen: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for module, names in IMPORTS.items():
        for name in names:
            if name.split(".")[0] == FACE and module != FACE and room_of(name) not in ("", room_of(module)):
                seen[room_of(module)][room_of(name)].add(module)
    return seen


ARROWS = arrows()


def test_the_page_pictures_the_rooms_that_there_are():
    there = {room_of(name) for name in MODULES} - {""}

    assert sorted(LEVEL) == sorted(there)
    assert sum(map(len, LAYERS)) == len(there), "each room stands in one layer"
    assert set().union(NEVER, *NEVER.values()) <= there


@pytest.mark.parametrize("room", sorted(LEVEL))
def test_a_room_knows_only_what_is_below_it(room):
    upward = {
        f"{module} imports {name}"
        for name, found in ARROWS[room].items()
        for module in found
        if LEVEL.get(name, len(LAYERS)) >= LEVEL[room] or name in NEVER.get(room, ())
    }

    assert upward == set()


def test_no_layer_is_higher_than_it_has_to_be():
    """A room stands right above the highest one it imports: the picture is no loose upper bound."""
    highest = {room: max((LEVEL[name] for name in ARROWS[room]), default=-1) for room in LEVEL}

    loose = {level for level, found in enumerate(LAYERS) if all(highest[room] < level - 1 for room in found)}
    assert loose == set()


def test_nothing_is_imported_by_a_name_that_cannot_be_read():
    assert {module for module, names in IMPORTS.items() if "?" in names} <= LOADED_BY_NAME


def test_our_folders_are_imported_by_their_installed_names():
    """``import agents`` works in a checkout only, and is openai-agents elsewhere."""
    tops = {name.split(".")[0] for names in IMPORTS.values() for name in names}

    assert tops & (set(FOLDERS) - {FACE}) == set()


def test_the_package_itself_hands_on_the_python_interface_and_nothing_else():
    ours = {name for name in IMPORTS[FACE] if name.split(".")[0] == FACE}
    assert {room_of(name) for name in ours} == {"api"}


def test_modules_of_one_room_import_each_other_in_one_direction():
    graph: dict[str, set[str]] = {name: set() for name in MODULES}
    for module, names in IMPORTS.items():
        for name in names:
            known = name if name in MODULES else name.rpartition(".")[0]
            if known in MODULES and known != module and room_of(known) == room_of(module) != MUTUAL:
                graph[module].add(known)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_nobody_knows_an_engine_but_the_registry():
    folders = {name for name in MODULES if re.fullmatch(r"investigator\.engines\.\w+\.known", name)}
    assert {name.split(".")[2] for name in folders} == {"vllm", "sglang"}

    for folder in (name.removesuffix("known") for name in folders):
        assert [
            f"{module} imports {name}"
            for module, names in IMPORTS.items()
            for name in names
            if f"{name}.".startswith(folder) and not f"{module}.".startswith(folder)
        ] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("from investigator.run import send", "investigator.run.send"),
        ("def f():\n    from investigator import run", "investigator.run"),
        ("if TYPE_CHECKING:\n    import investigator.run", "investigator.run"),
        ("import investigator\ninvestigator.run.send()", "investigator.run"),
        ("importlib.import_module('investigator.run')", "investigator.run"),
        ("import_module(f'investigator.run.{name}')", "investigator.run."),
        ("__import__(name)", "?"),
    ],
)
def test_no_way_of_importing_is_overlooked(text, found):
    assert found in set(imported(ast.parse(text)))


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
