"""From an engine's or a reference's answer to the answer that a report can print."""

from collections.abc import Mapping

from investigator.engines.interface import Step, Told
from investigator.model import Answer, Evidence, NotChecked, Role, Runner
from investigator.sources.interface import Tree

MOST_LINES = 3


def answer_of(
    told: Told, tree: Tree, *, contract: str, role: Role, agent: str, runner: Runner | None = None
) -> Answer:
    """The answer, each step's lines quoted from the tree."""
    return Answer(
        contract=contract,
        role=role,
        agent=agent,
        source=tree.source.id,
        outcome=told.outcome,
        runner=runner,
        evidence=tuple(quoted(step, tree) for step in told.steps),
        assumptions=told.assumptions,
        note=told.note,
        live=told.live,
    )


def quoted(step: Step, tree: Tree) -> Evidence:
    """The lines of one step, at most three."""
    place = step.place
    last = min(place.end_line, place.line + MOST_LINES - 1)
    lines = tree.read(place.path).splitlines()[place.line - 1 : last]
    return Evidence(
        source=tree.source.id,
        path=place.path,
        line=place.line,
        end_line=last,
        quote="\n".join(line.decode("utf-8", "replace") for line in lines),
        role=step.role,
    )


def not_live(place: str, reasons: Mapping[str, str]) -> list[NotChecked]:
    """What was not asked of a live source, one entry for each reason.

    ``reasons``: a name -> why it did not come from there; empty when it did.
    """
    grouped: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        if reason:
            # The same reason for two names is one reason, whichever of them it mentions.
            grouped.setdefault(reason.replace(name, "it"), []).append(name)
    return [NotChecked(what=f"{place}, for {' and '.join(names)}", why=why) for why, names in grouped.items()]
