"""Scales that a draft model reads, keeps, and never looks at again: as good as not read."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from tree_sitter import Node

from investigator.checkpoint import Checkpoint
from investigator.code import classes
from investigator.code.interpreter import Interpreter
from investigator.code.program import Module
from investigator.code.syntax import descendants, field, named, string_value, text
from investigator.code.trace import Happening
from investigator.code.values import ClassValue, Instance, Value
from investigator.engines.interface import Told
from investigator.model import Json, Known

SCALES = ("input_embedding_scale", "output_multiplier", "final_logit_softcapping")
MARKS = {key: 0.7310585 + number / 1024 for number, key in enumerate(SCALES)}
"""Numbers that nothing else comes to: where one is met, it is the scale."""


def applied(found: Told, checkpoint: Checkpoint, build: Callable[[Checkpoint], Interpreter]) -> Told:
    """An answer of which keys are read, of the scales those alone that are used: the ones that are kept
    and never looked at left out. ``build``: builds the draft model of a checkpoint."""
    if not isinstance(found.outcome, Known) or not isinstance(found.outcome.value, list):
        return found
    kept: list[Json] = list(found.outcome.value)
    if any(key in SCALES for key in kept):
        dropped = _unused(build(_marked_checkpoint(checkpoint)))
        kept = [key for key in kept if key not in dropped]
    steps = tuple(step for step in found.steps if step.role.removeprefix("reads ") in SCALES)
    return replace(found, outcome=Known(kept), steps=steps)


def _marked_checkpoint(checkpoint: Checkpoint) -> Checkpoint:
    """The checkpoint with each scale that it sets at a number that is met nowhere else."""
    draft = checkpoint.draft
    return replace(checkpoint, draft=replace(draft, normalised=_marked(draft.normalised)))


def _marked(values: Mapping[str, Json]) -> dict[str, Json]:
    return {key: _with_mark(key, value) for key, value in values.items()}


def _with_mark(key: str, value: Json) -> Json:
    if isinstance(value, Mapping):
        return _marked(value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return MARKS[key] if key in MARKS and is_number else value


def _unused(interp: Interpreter) -> set[str]:
    """The scales that were kept as attributes which nothing looks at, and handed to nobody, in a session
    over such values."""
    return {key for key, mark in MARKS.items() if _is_unused(interp, mark)}


def _is_unused(interp: Interpreter, mark: float) -> bool:
    handed = [
        value
        for event in interp.trace.of(Happening.SKIP)
        for value in (*event.value[0], *event.value[1].values())
    ]
    if any(value == mark for value in handed if isinstance(value, float)):
        return False
    kept = [event for event in interp.trace.of(Happening.STORE) if _is(event.value[1], mark)]
    return bool(kept) and not any(
        _is_looked_at(interp, event.value[0], event.name.rpartition(".")[2]) for event in kept
    )


def _is(value: Value, mark: float) -> bool:
    return isinstance(value, float) and value == mark


def _is_looked_at(interp: Interpreter, owner: Value, name: str) -> bool:
    """Whether the classes of an object, or any file of the tree, look at an attribute of this name."""
    if not isinstance(owner, Instance) or owner.cls is None:
        return True
    own = {base.module.path: base.module for base in _classes(interp, owner.cls)}
    if any(_looks_at(module, name) for module in own.values()):
        return True
    return any(_looks_at(module, name) for module in interp.program.search([f".{name}"]))


def _classes(interp: Interpreter, cls: ClassValue) -> Iterator[ClassValue]:
    yield from (base for base in classes.mro(interp, cls) if isinstance(base, ClassValue))


def _looks_at(module: Module, name: str) -> bool:
    for node in descendants(module.file.root, "attribute"):
        if text(field(node, "attribute")) == name and not _is_target(node):
            return True
    for call in descendants(module.file.root, "call"):
        if text(field(call, "function")) == "getattr":
            arguments = named(field(call, "arguments"))
            if len(arguments) > 1 and text(arguments[0]) == "self" and string_value(arguments[1]) == name:
                return True
    return False


def _is_target(node: Node) -> bool:
    parent = node.parent
    return parent is not None and parent.type == "assignment" and parent.child_by_field_name("left") == node
