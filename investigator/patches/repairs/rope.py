"""The draft layers rotate as their own config says, not as the target does.

A loader that copies the layout of the target's rotary embedding into the draft's config decides
something that the drafter's training has decided already: DFlash drafters are Qwen3-style and
rotate in halves, whatever their target does. The repair takes the copy out, with what was only
there for it.
"""

from collections.abc import Iterator

from tree_sitter import Node

from investigator.code.program import Module, Program
from investigator.code.syntax import descendants, enclosing, field, named, text
from investigator.patches.edits import Edit, Edits
from investigator.patches.pen import Pen, Unfit
from investigator.patches.repairs.fault import Fault
from investigator.patches.repairs.roles import FUNCTION, Found, found_in, function_of

CONTRACT = "rope"
SUBJECT = "DFlash: rotate the draft layers as their own config says"
CHANGE = """\
Loading a DFlash drafter wrote the layout of the target's rotary embedding
over the draft's. Drafters are Qwen3-style and rotate in halves, also beside
a target that rotates in pairs, so every drafted query and key was rotated
the wrong way there. The layout is the draft config's own again."""

KEY = "is_neox_style"
_CONFIG = "hf_config"
_USUAL = ("vllm/v1/spec_decode/dflash.py", "vllm/v1/worker/gpu/spec_decode/dflash/utils.py")


def edit(program: Program, fault: Fault) -> Edits:
    """Take out each place that writes a layout into a draft model's config."""
    places = found_in(program, [f"{_CONFIG}.{KEY} ="], fault.hints(*_USUAL), _writers)
    if not places and _writes_into_an_embedding(fault):
        raise Unfit(
            "the draft layers have the target's own rotary embedding, as they ask for the same settings",
            "give the drafter's config a larger max_position_embeddings, so that it asks for one of its own",
        )
    return tuple(change for place in places for change in _without_copy(place))


def _writes_into_an_embedding(fault: Fault) -> bool:
    """Whether the findings show a layout written, and not into a config."""
    return any(
        f".{KEY} = " in shown.quote and f"{_CONFIG}.{KEY}" not in shown.quote for shown in fault.evidence
    )


def _writers(module: Module) -> list[Found]:
    functions = dict.fromkeys(function_of(write) for write in _writes(module.file.root))
    return [Found(module, function) for function in functions]


def _writes(node: Node) -> list[Node]:
    return [
        found
        for found in descendants(node, "assignment")
        if text(field(found, "left")).endswith(f"{_CONFIG}.{KEY}") and enclosing(found, FUNCTION) is not None
    ]


def _without_copy(place: Found) -> Iterator[Edit]:
    pen, function = place.pen, place.node
    for write in _writes(function):
        copied = _condition(pen, write)
        gone = [copied]
        before = _above(copied)
        if before is not None and (read := _assigned(before)) is not None and _only_in(function, read, gone):
            gone.append(before)
        yield from (_cut(pen, node) for node in gone)
        yield from _unused_imports(pen, function, gone)


def _condition(pen: Pen, write: Node) -> Node:
    """The ``if`` around the statement where that holds nothing else, or the statement itself."""
    statement = pen.statement(write)
    around = statement.parent.parent if statement.parent is not None else None
    if around is None or around.type != "if_statement":
        return statement
    if len(named(field(around, "consequence"))) > 1 or around.child_by_field_name("alternative") is not None:
        raise Unfit(f"line {around.start_point.row + 1} decides more than the draft's layout")
    return around


def _above(statement: Node) -> Node | None:
    """The statement before this one; comments are passed over."""
    found = statement.prev_named_sibling
    while found is not None and found.type == "comment":
        found = found.prev_named_sibling
    return found


def _assigned(statement: Node) -> str | None:
    """The one name that a statement assigns."""
    inner = named(statement)[0] if statement.type == "expression_statement" else statement
    left = inner.child_by_field_name("left") if inner.type == "assignment" else None
    return text(left) if left is not None and left.type == "identifier" else None


def _only_in(function: Node, name: str, gone: list[Node]) -> bool:
    """Whether what is gone reads a name that the function then mentions only once: where it is made."""
    found = [node for node in descendants(function, "identifier") if text(node) == name]
    left = [node for node in found if not any(_holds(part, node) for part in gone)]
    return len(left) == 1 < len(found)


def _holds(outer: Node, inner: Node) -> bool:
    return outer.start_byte <= inner.start_byte and inner.end_byte <= outer.end_byte


def _unused_imports(pen: Pen, function: Node, gone: list[Node]) -> Iterator[Edit]:
    """Imports inside the function that served only what is gone."""
    for statement in descendants(function, "import_from_statement"):
        names = statement.children_by_field_name("name")
        unused = [name for name in names if _only_in(function, text(name), gone)]
        if unused and len(unused) == len(names):
            yield _cut(pen, statement)
        else:
            for name in unused:
                yield _cut(pen, name)


def _cut(pen: Pen, node: Node) -> Edit:
    """Take out the lines of a node, with comments that stand right above it."""
    first = node
    while (above := first.prev_named_sibling) is not None and above.type == "comment":
        if above.end_point.row + 1 != first.start_point.row:
            break
        first = above
    start, end = pen.lines_of(first)[0], pen.lines_of(node)[1]
    if first.parent is not None and first == first.parent.children[0]:
        # Nothing stands above: an empty line below would open the block.
        end += len(pen.file.source[end:]) - len(pen.file.source[end:].lstrip(b"\r\n"))
    return Edit(pen.file.path, start, end, b"")
