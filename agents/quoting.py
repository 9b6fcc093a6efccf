"""From an engine's or a reference's answer to the answer that a report can print."""

from collections.abc import Mapping, Sequence

from investigator.engines.interface import Step, Told
from investigator.model import Answer, Evidence, NotChecked, Role, Runner
from investigator.sources.interface import Tree

MOST_LINES = 3


def answer_of(
    told: Told, tree: Tree, *, contract: str, role: Role, agent: str, runner: Runner | None = None
) -> Answer:
    """The answer, each step's lines quoted from the tree."""
    # Lines as a parser counts them: a lone carriage return ends none.
    texts = {path: tree.read(path).split(b"\n") for path in {step.place.path for step in told.steps}}
    return Answer(
        contract=contract,
        role=role,
        agent=agent,
        source=tree.source.id,
        outcome=told.outcome,
        runner=runner,
        evidence=tuple(quoted(step, tree.source.id, texts[step.place.path]) for step in told.steps),
        assumptions=told.assumptions,
        note=told.note,
        live=told.live,
    )


def quoted(step: Step, source: str, lines: Sequence[bytes]) -> Evidence:
    """The lines of one step, at most three, out of its file's ``lines``."""
    place = step.place
    last = min(place.end_line, place.line + MOST_LINES - 1)
    shown = (line.removesuffix(b"\r") for line in lines[place.line - 1 : last])
    return Evidence(
        source=source,
        path=place.path,
        line=place.line,
        end_line=last,
        quote="\n".join(line.decode("utf-8", "replace") for line in shown),
        role=step.role,
        recorded_from=step.recorded_from,
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
