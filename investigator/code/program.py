"""A tree of files seen as Python modules: imports, symbols, and who mentions what.

Nothing is read before it is needed, and every file that an answer rests on is remembered
(``consulted``), so that an answer can be reused for as long as those files stay the same.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from functools import cached_property
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from tree_sitter import Node

from investigator.code.contents import BELOW, EVERYTHING, REQUIRES, Contents, Facts
from investigator.code.syntax import (
    MAX_FILE_BYTES,
    ParsedFile,
    Place,
    decorators,
    definition,
    descendants,
    field,
    named,
    parse,
    statements,
    text,
)
from investigator.errors import LimitError
from investigator.sources.interface import Tree


@dataclass(frozen=True)
class Definition:
    """One place where a module (or class) binds a name.

    ``node``: the function or class, the assignment, or the import statement.
    ``imported``: for imports, the dotted module and the name taken from it (None: the module).
    ``conditional``: stands under an ``if``/``try``; ``typing_only``: under ``TYPE_CHECKING``.
    """

    name: str
    node: Node
    imported: tuple[str, str | None] | None = None
    conditional: bool = False
    typing_only: bool = False

    @cached_property
    def decorators(self) -> tuple[str, ...]:
        """Those of the function or class; looked for once, since a parent is found from the file's top."""
        return tuple(decorators(self.node))


@dataclass(frozen=True)
class Module:
    """One Python file of a program. ``dotted`` is the name it is imported by."""

    dotted: str
    file: ParsedFile

    @property
    def path(self) -> str:
        """The file's path in the tree."""
        return self.file.path

    @property
    def package(self) -> str:
        """What a relative import in this file starts from."""
        if self.path.endswith("/__init__.py") or self.path == "__init__.py":
            return self.dotted
        return self.dotted.rpartition(".")[0]

    @cached_property
    def symbols(self) -> dict[str, list[Definition]]:
        """Every name bound at the top level, in source order."""
        table: dict[str, list[Definition]] = {}
        for found in bindings(self.file.root, self.package):
            table.setdefault(found.name, []).append(found)
        return table

    @cached_property
    def worked_out(self) -> dict[tuple[str, int], Any]:
        """What was read off parts of this file, by what it is and at which byte it stands: the
        text does not change, so it is read off once for every question. Each is put in whole and left
        as it is: other investigations' threads look at the same file."""
        return {}

    def place(self, node: Node) -> Place:
        """Where a node of this file stands."""
        return Place(self.path, node.start_point.row + 1, node.end_point.row + 1)


def bindings(block: Node, package: str) -> Iterator[Definition]:
    """The names that the statements of a module or class body bind, branches included."""
    stack: list[tuple[Node, bool, bool]] = [(s, False, False) for s in reversed(statements(block))]
    while stack:
        node, conditional, typing_only = stack.pop()
        inner = definition(node)
        match inner.type:
            case "function_definition" | "class_definition":
                yield Definition(text(field(inner, "name")), inner, None, conditional, typing_only)
            case "import_statement" | "import_from_statement":
                for name, imported in imports(inner, package):
                    yield Definition(name, inner, imported, conditional, typing_only)
            case "expression_statement":
                for child in named(inner):
                    if child.type in ("assignment", "augmented_assignment"):
                        for name in assigned_names(child):
                            yield Definition(name, child, None, conditional, typing_only)
            case "if_statement":
                guarded = text(field(inner, "condition")) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")
                parts = [(field(inner, "consequence"), typing_only or guarded)]
                for clause in inner.children_by_field_name("alternative"):
                    parts.append(
                        (clause.child_by_field_name("consequence") or field(clause, "body"), typing_only)
                    )
                for side, only in reversed(parts):
                    stack.extend((s, True, only) for s in reversed(statements(side)))
            case "try_statement" | "with_statement" | "for_statement" | "while_statement":
                for name in _targets_of(inner):
                    yield Definition(name, inner, None, True, typing_only)
                for each in reversed(named(inner)):
                    inside = each if each.type == "block" else _clause_body(each)
                    if inside is not None:
                        stack.extend((s, True, typing_only) for s in reversed(statements(inside)))
            case _:
                pass


def _targets_of(node: Node) -> list[str]:
    """The names that a ``for`` or ``with`` statement itself binds."""
    if node.type == "for_statement":
        return _names_in(field(node, "left"))
    if node.type == "with_statement":
        return [
            name
            for clause in named(node)
            if clause.type == "with_clause"
            for target in descendants(clause, "as_pattern_target")
            for name in _names_in(target)
        ]
    return []


def _names_in(target: Node) -> list[str]:
    """The plain names in a target: not those of ``a.b`` and ``a[b]``."""
    found: list[str] = []
    stack = [target]
    while stack:
        node = stack.pop()
        if node.type == "identifier":
            found.append(text(node))
        elif node.type not in ("attribute", "subscript", "call"):
            stack.extend(reversed(node.named_children))
    return found


def _clause_body(node: Node) -> Node | None:
    if node.type in ("except_clause", "else_clause", "finally_clause", "except_group_clause"):
        return next((child for child in named(node) if child.type == "block"), None)
    return None


def assigned_names(assignment: Node) -> list[str]:
    """The plain names that an assignment binds (``a``, ``b`` in ``a, b = ...``)."""
    left = assignment.child_by_field_name("left")
    found = _names_in(left) if left is not None else []
    right = assignment.child_by_field_name("right")
    if right is not None and right.type == "assignment":
        found.extend(assigned_names(right))
    return found


def imports(node: Node, package: str) -> Iterator[tuple[str, tuple[str, str | None]]]:
    """What an import statement binds: the local name, and (module, name in it)."""
    if node.type == "import_statement":
        for child in node.children_by_field_name("name"):
            if child.type == "aliased_import":
                yield text(field(child, "alias")), (text(field(child, "name")), None)
            else:
                dotted = text(child)
                top = dotted.partition(".")[0]
                yield top, (top, None)
        return
    module = absolute(text(field(node, "module_name")), package)
    for child in node.children_by_field_name("name"):
        if child.type == "aliased_import":
            yield text(field(child, "alias")), (module, text(field(child, "name")))
        else:
            yield text(child), (module, text(child))
    if any(child.type == "wildcard_import" for child in node.children):
        yield "*", (module, "*")


def absolute(name: str, package: str) -> str:
    """The absolute dotted name of ``name`` as written in a file of ``package``."""
    stripped = name.lstrip(".")
    dots = len(name) - len(stripped)
    if dots == 0:
        return name
    base = package.split(".") if package else []
    base = base[: max(len(base) - (dots - 1), 0)] if dots > 1 else base
    return ".".join([*base, stripped] if stripped else base)


T = TypeVar("T")
MAX_TREE_BYTES = 16 << 20
"""Bytes of source that are parsed of one tree; a full search of vLLM comes to about 6 MB."""


@dataclass(frozen=True)
class ParsedFiles:
    """Parsed modules by path and content, and what was worked out of several files with the facts that
    it rests on: to be shared by programs over similar trees."""

    modules: dict[tuple[str, str], Module] = dataclass_field(default_factory=dict)
    worked_out: dict[str, list[tuple[Facts, Any]]] = dataclass_field(default_factory=dict)


_SOMEWHERE: WeakValueDictionary[tuple[str, str], Module] = WeakValueDictionary()
"""The modules that any program holds now, by path and content: a syntax tree takes some twenty times its
file's size, and investigations that run at once read mostly the same files."""


class Program:
    """Modules over a tree. Safe to share between questions that run one after another."""

    def __init__(
        self,
        tree: Tree,
        *,
        parsed: ParsedFiles | None = None,
        on_full_search: Callable[[str], None] | None = None,
    ) -> None:
        self.tree = tree
        self.consulted: dict[str, str] = {}
        """The facts that were asked for so far: every file that was looked at, and every one that was
        looked for and is not there (:mod:`investigator.code.contents`)."""
        self._contents = Contents(tree)
        self._modules: dict[str, Module | None] = {}
        self._parsed = parsed or ParsedFiles()
        self._searches: dict[tuple[bytes, ...], list[Module]] = {}
        self._on_full_search = on_full_search or (lambda why: None)

    def view(self) -> "Program":
        """The same program with nothing consulted yet: what one question rests on can then
        be told apart from what another does. Parsed files are shared."""
        other = Program.__new__(Program)
        other.tree, other.consulted = self.tree, {}
        other._contents, other._modules = self._contents, self._modules
        other._parsed, other._searches = self._parsed, self._searches
        other._on_full_search = self._on_full_search
        return other

    def _note(self, fact: str) -> str:
        """A fact about the tree, which is consulted from now on."""
        if fact not in self.consulted:
            self.consulted[fact] = self._contents.fact(fact)
        return self.consulted[fact]

    def has(self, path: str) -> bool:
        """Whether the tree holds this path."""
        self._note(path)
        return path in self._contents.present

    def requirement(self, distribution: str) -> str:
        """What the engine's distribution requires of another one, as its metadata write it
        (``transformers==4.57.1``); empty where they do not say."""
        return self._note(f"{REQUIRES}{distribution}")

    def module_at(self, path: str) -> Module | None:
        """The module in a file; None when there is no such file or it cannot be parsed at all."""
        if path not in self._modules:
            self._modules[path] = self._load(path)
        self._note(path)
        return self._modules[path]

    def module(self, dotted: str) -> Module | None:
        """The module that ``import dotted`` would bring, when it is in the tree."""
        path = self.path_of(dotted)
        return self.module_at(path) if path is not None else None

    def path_of(self, dotted: str) -> str | None:
        """The file of a dotted module name, when it is in the tree."""
        base = dotted.replace(".", "/")
        for path in (f"{base}.py", f"{base}/__init__.py"):
            if self.has(path):
                return path
        return None

    def is_package(self, dotted: str) -> bool:
        """Whether the tree has a folder of this dotted name (namespace packages too)."""
        return bool(self._note(f"{dotted.replace('.', '/')}/{BELOW}"))

    def _load(self, path: str) -> Module | None:
        if path not in self._contents.present:
            return None
        key = (path, self.tree.digest(path))
        if key in self._parsed.modules:
            return self._parsed.modules[key]
        source = self.tree.read(path)
        if len(source) > MAX_FILE_BYTES:
            raise LimitError(
                f"{path} is {len(source):,} bytes, more than {MAX_FILE_BYTES:,}",
                "look at this file by hand; it is not read",
            )
        parsed = sum(len(each.file.source) for each in self._modules.values() if each is not None)
        if parsed + len(source) > MAX_TREE_BYTES:
            raise LimitError(
                f"over {MAX_TREE_BYTES:,} bytes of {self.tree.source.name} would have to be parsed",
                "this is no engine that this program knows how to read",
            )
        module = _SOMEWHERE.get(key)
        if module is None:
            dotted = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            module = _SOMEWHERE.setdefault(key, Module(dotted, parse(path, source)))
        self._parsed.modules[key] = module
        return module

    def derived(self, module: Module, name: str, compute: Callable[[Module], T]) -> T:
        """Something worked out of one file alone, once for as long as the file is held."""
        key = (name, 0)
        if key not in module.worked_out:
            module.worked_out[key] = compute(module)
        found: T = module.worked_out[key]
        return found

    def shared(self, name: str, compute: Callable[["Program"], T]) -> T:
        """Something worked out of several files, once for all questions to this tree, and to others that
        share its parsed files and in which the same facts hold; whoever asks for it has consulted them.

        ``name`` says all that ``compute`` depends on beside the tree; what it gives holds no program.
        """
        kept = self._parsed.worked_out.setdefault(name, [])
        found = next(((facts, value) for facts, value in kept if self._contents.hold(facts)), None)
        if found is None:
            view = self.view()
            value = compute(view)
            found = (view.consulted, value)
            kept.append(found)
        facts, known = found
        self.consulted.update(facts)
        shared: T = known
        return shared

    def mentioning(self, needles: Iterable[str], hints: Iterable[str]) -> list[Module]:
        """The modules whose text holds every needle: those among the hints, or, when no
        hint does, those in the whole tree (all its Python files are then read)."""
        wanted = [needle.encode() for needle in needles]
        near = [path for path in hints if self.has(path)]
        self.tree.prefetch(near)
        found = self._holding(wanted, near)
        if found:
            return found
        return self._everywhere(wanted)

    def among(self, needles: Iterable[str], paths: Iterable[str]) -> list[Module]:
        """The modules among these files whose text holds every needle; no other is read."""
        near = [path for path in paths if self.has(path)]
        self.tree.prefetch(near)
        return self._holding([needle.encode() for needle in needles], near)

    def files_in(self, folder: str) -> list[str]:
        """The Python files that stand directly in a folder (``a/b/``), sorted. An answer that rests
        on what the folder holds is asked again when it holds other files."""
        self._note(folder)
        return self._contents.python_in(folder)

    def search(self, needles: Iterable[str]) -> list[Module]:
        """The modules in the whole tree whose text holds every needle."""
        return self.mentioning(list(needles), ())

    def _everywhere(self, needles: list[bytes]) -> list[Module]:
        """A full search; the same one is made once for all questions to this tree."""
        key = tuple(needles)
        if key not in self._searches:
            self._on_full_search(b" and ".join(needles).decode())
            self.tree.prefetch(self._contents.python)
            self._searches[key] = self._holding(needles, self._contents.python)
        self._note(EVERYTHING)
        found = self._searches[key]
        for module in found:
            self._note(module.path)
        return found

    def _holding(self, needles: list[bytes], paths: Iterable[str]) -> list[Module]:
        found = []
        for path in paths:
            loaded = self._modules.get(path)
            try:
                source = loaded.file.source if loaded is not None else self.tree.read(path)
            except LimitError:
                continue
            if len(source) <= MAX_FILE_BYTES and all(_holds(source, needle) for needle in needles):
                module = self.module_at(path)
                if module is not None:
                    found.append(module)
        return found


def _holds(source: bytes, needle: bytes) -> bool:
    """Whether a text holds a needle, whichever quotes it is written with."""
    return needle in source or (b'"' in needle and needle.replace(b'"', b"'") in source)
