"""Joins answers by contract and runner into findings. It never reads source.

Every finding rests on the answers of at least two agents; one that would rest on a single
agent is ``unknown``.
"""

from collections.abc import Iterable, Iterator, Sequence

from investigator.checkpoint import Checkpoint
from investigator.contracts.contract import Contract, Judgement, Sides, judge
from investigator.contracts.registry import CONTRACTS
from investigator.model import Answer, Evidence, Finding, Known, Role, Runner, Verdict


def synthesize(answers: Sequence[Answer], checkpoint: Checkpoint | None) -> tuple[Finding, ...]:
    """One finding per contract that the engine is asked about, and per runner where its paths
    differ. Every contract has one when the engine's agent brought nothing at all."""
    asked = {answer.contract for answer in answers if answer.role is Role.ENGINE}
    return tuple(
        _finding(contract, runner, answers, checkpoint)
        for contract in CONTRACTS
        if not asked or contract.id in asked
        for runner in _runners(contract.id, answers)
    )


def _runners(contract: str, answers: Iterable[Answer]) -> list[Runner | None]:
    asked = [a.runner for a in answers if a.contract == contract and a.role is Role.ENGINE]
    return list(dict.fromkeys(asked)) or [None]


def _finding(
    contract: Contract, runner: Runner | None, answers: Sequence[Answer], checkpoint: Checkpoint | None
) -> Finding:
    mine = [answer for answer in answers if answer.contract == contract.id]
    engine = next((a for a in mine if a.role is Role.ENGINE and a.runner is runner), None)
    sides = Sides(
        checkpoint=next((a for a in mine if a.role is Role.CHECKPOINT), None),
        references=tuple(a for a in mine if a.role is Role.REFERENCE),
        engine=engine,
        facts=checkpoint,
    )
    found = judge(contract, sides)
    heard = tuple(dict.fromkeys(a.agent for a in _heard(sides, found.verdict)))
    if found.verdict is not Verdict.UNKNOWN and len(heard) < 2:
        why = f"only {heard[0] if heard else 'nobody'} could answer, and one answer is no comparison"
        found = Judgement(verdict=Verdict.UNKNOWN, why=why)
    return Finding(
        contract=contract.id,
        runner=runner,
        verdict=found.verdict,
        why=found.why,
        agents=heard,
        evidence=tuple(_evidence(sides, found.verdict)),
        promised=found.promised or contract.promise,
        happens=found.happens,
        consequence=contract.consequence if found.verdict in (Verdict.BROKEN, Verdict.PARTIAL) else "",
        live=engine.live if engine is not None else None,
    )


def _heard(sides: Sides, verdict: Verdict) -> Iterator[Answer]:
    """The answers that a verdict rests on. That a checkpoint does not need a promise, or that an engine
    does not take it or stops, is seen from its facts, whether or not it has an answer of its own."""
    if sides.engine is not None:
        yield sides.engine
    by_its_facts = verdict in (Verdict.NOT_APPLICABLE, Verdict.UNSUPPORTED, Verdict.REFUSED)
    if sides.checkpoint is not None and (by_its_facts or isinstance(sides.checkpoint.outcome, Known)):
        yield sides.checkpoint
    yield from (a for a in sides.references if isinstance(a.outcome, Known))


def _evidence(sides: Sides, verdict: Verdict) -> Iterator[Evidence]:
    """The engine's lines first: they are what a reader came for."""
    for answer in _heard(sides, verdict):
        yield from answer.evidence
