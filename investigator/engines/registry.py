"""Which engines are known: those of this project, and those that other packages bring.

An engine is an :class:`EngineKnown`: its name, how its questions are put to a tree, and what is
worth knowing before a tree is read. Another package adds one with an entry point in the group
``investigator.engines`` that names such an object; ``docs/adding-an-engine.md`` says how.
"""

import hashlib
import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from urllib.parse import urlsplit

from investigator.checkpoint import Checkpoint
from investigator.code.program import Program
from investigator.engines.deployment import Deployment
from investigator.engines.interface import Engine
from investigator.errors import UsageError
from investigator.model import Runner

GROUP = "investigator.engines"
OWN = {
    "vllm": "investigator.engines.vllm.known:ENGINE",
    "sglang": "investigator.engines.sglang.known:ENGINE",
}
"""The engines of this project: name -> where the object stands."""

Make = Callable[[Program, Checkpoint, Deployment], Engine]
"""From a tree, a checkpoint and what the deployment sets to the engine's answers."""


@dataclass(frozen=True, kw_only=True)
class EngineKnown:
    """What is known of an engine before a tree of it is opened.

    ``name``: its distribution's name on the package index, in ``--engine`` and in reports.
    ``package``: the import package that marks a tree as this engine's. ``questions``: every
    (contract id, runner) pair it can be asked. ``hints``: files that most questions read,
    brought near in one go; a name that a release does not have costs nothing.
    ``first``: the first release with anything to investigate, where a timeline begins.
    ``lines``: where a reader can see a release's lines, an address with ``{version}``, ``{path}`` and
    ``{line}``: usually the release's tag in the engine's repository. ``flags``: the server flags that its
    answers follow (``--attention-backend``); ``--no-...`` is the off of a switch. ``variables``: the file
    that names every environment variable that the engine reads, where it has one.
    """

    name: str
    make: Make
    questions: Sequence[tuple[str, Runner | None]]
    package: str = ""
    hints: Sequence[str] = ()
    first: str | None = None
    lines: str | None = None
    flags: Sequence[str] = ()
    variables: str = ""

    @property
    def project(self) -> tuple[str, ...]:
        """What its repository may be called, without the owner."""
        parts = urlsplit(self.lines or "").path.split("/")
        return (self.name, self.folder, *parts[2:3])

    @property
    def folder(self) -> str:
        """The folder of its import package."""
        return self.package or self.name


def names() -> tuple[str, ...]:
    """Every engine's name, this project's own first."""
    return tuple(dict.fromkeys([*OWN, *(point.name for point in entry_points(group=GROUP))]))


@cache
def known(name: str) -> EngineKnown:
    """The engine of this name. Raises UsageError when there is none, or it cannot be loaded."""
    if name in OWN:
        module, _, attribute = OWN[name].partition(":")
        found = getattr(importlib.import_module(module), attribute)
    else:
        found = _brought(name)
    assert isinstance(found, EngineKnown), name
    return found


def _brought(name: str) -> EngineKnown:
    point = next((point for point in entry_points(group=GROUP) if point.name == name), None)
    if point is None:
        raise UsageError(f"no engine named {name} is known", f"known are {', '.join(names())}")
    try:
        found = point.load()
    except Exception as error:  # another package's code may fail in any way
        raise UsageError(
            f"the engine {name} cannot be loaded from {point.value}: {type(error).__name__}: {error}",
            "update or uninstall the package that brings it",
        ) from error
    if not isinstance(found, EngineKnown):
        raise UsageError(
            f"{point.value} is no investigator.engines.registry.EngineKnown",
            "update or uninstall the package that brings it",
        )
    return found


@cache
def reading_code_of(name: str) -> str:
    """One hash over the modules that another package brings for an engine; "" for our own.

    Kept answers rest on the code that found them: they are asked again when it changes.
    """
    if name in OWN:
        return ""
    module = importlib.import_module(known(name).make.__module__)
    assert module.__file__ is not None
    digest = hashlib.sha256()
    for path in sorted(Path(module.__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()
