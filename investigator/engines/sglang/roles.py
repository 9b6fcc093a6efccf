"""Finding things in SGLang by the role they play. Paths are hints: they save reading, no more."""

import re
from collections.abc import Iterator

from investigator.code.interpreter import Interpreter
from investigator.code.syntax import text
from investigator.code.values import ClassValue

MODELS = "sglang/srt/models/"
"""The package whose modules the registry imports, each for its ``EntryClass``."""
CONFIGS = "sglang/srt/configs/"
ENTRY = "EntryClass"
HINTS: tuple[str, ...] = ()
"""Files that a run on any of the known releases reads; brought near in one go."""


def registered(interp: Interpreter, architecture: str) -> ClassValue | None:
    """The model class that the registry gives for an architecture: an ``EntryClass`` of that name."""
    needles = [f"class {architecture}(", ENTRY]
    for paths in _places(interp, MODELS, architecture):
        for module in interp.program.among(needles, paths):
            entries = interp.global_name(module, ENTRY)
            for cls in entries if isinstance(entries, list | tuple) else [entries]:
                if isinstance(cls, ClassValue) and cls.name == architecture:
                    return cls
    return None


def config_class(interp: Interpreter, model_type: str) -> ClassValue | None:
    """The engine's own config class for a model type, where it has one."""
    needle = f'model_type = "{model_type}"'
    for path in _likely(interp, CONFIGS, model_type):
        for module in interp.program.among([needle], [path]):
            for name, found in module.symbols.items():
                if found[-1].node.type == "class_definition" and needle in text(found[-1].node):
                    value = interp.global_name(module, name)
                    if isinstance(value, ClassValue):
                        return value
    return None


def _places(interp: Interpreter, folder: str, name: str) -> Iterator[list[str]]:
    """The files of a folder, those first that are called like ``name``."""
    likely = _likely(interp, folder, name)
    yield likely
    rest = [p for p in interp.program.tree.paths() if _directly_in(p, folder) and p not in likely]
    yield rest


def _likely(interp: Interpreter, folder: str, name: str) -> list[str]:
    """The files of a folder whose name begins like ``name``, the longest likeness first."""
    wanted = _squeezed(name)
    found = []
    for path in interp.program.tree.paths():
        if _directly_in(path, folder):
            stem = _squeezed(path[len(folder) : -len(".py")])
            common = len(_common(stem, wanted))
            if common >= 4 and (common == len(stem) or common >= 6):
                found.append((-common, len(stem), path))
    return [path for *_, path in sorted(found)[:8]]


def _directly_in(path: str, folder: str) -> bool:
    return path.startswith(folder) and path.endswith(".py") and "/" not in path[len(folder) :]


def _squeezed(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _common(one: str, two: str) -> str:
    length = next(
        (i for i, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two))
    )
    return one[:length]
