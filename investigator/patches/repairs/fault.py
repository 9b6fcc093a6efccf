"""What a repair is given, and what it answers when it can do nothing."""

from dataclasses import dataclass

from tree_sitter import Node

from investigator.checkpoint import Checkpoint
from investigator.model import Evidence, Finding, Remedy, RemedyKind


@dataclass(frozen=True)
class CannotRepair:
    """Why there is no patch, and what to do instead; each one sentence."""

    reason: str
    instead: str


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One broken promise: the findings about it (one per runner), and the drafter it hurts."""

    contract: str
    checkpoint: Checkpoint
    findings: tuple[Finding, ...] = ()

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """Where the findings saw the engine do it."""
        return tuple(shown for finding in self.findings for shown in finding.evidence)

    def hints(self, *usual: str) -> tuple[str, ...]:
        """Paths to look at first: those of the evidence, then the usual ones."""
        return tuple(dict.fromkeys([*(shown.path for shown in self.evidence), *usual]))

    def shows(self, path: str, node: Node) -> bool:
        """Whether some evidence lies within this node of this file."""
        first, last = node.start_point.row + 1, node.end_point.row + 1
        return any(shown.path == path and first <= shown.line <= last for shown in self.evidence)

    def instead(self) -> str:
        """The other remedies that the findings name, as one sentence."""
        others = dict.fromkeys(
            _sentence(remedy)
            for finding in self.findings
            for remedy in finding.remedies
            if remedy.kind is not RemedyKind.PATCH
        )
        if others:
            return "; or ".join(others)
        return "look for a release that keeps this promise with 'investigate timeline'"


def _sentence(remedy: Remedy) -> str:
    match remedy.kind:
        case RemedyKind.RELEASE:
            return f"use release {remedy.ref} ({remedy.effect})"
        case RemedyKind.SETTING:
            return f"set {remedy.ref} ({remedy.effect})"
        case _:
            return f"take {remedy.ref} ({remedy.effect})"
