"""A whole case without any source: fake agents, a judge that says what it is told to."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType

from investigator.agents.interface import AgentContext, AgentResult
from investigator.conduct import Assembly, Judgement, Repairs
from investigator.model import Runner
from investigator.run import Team
from tests.support import builders
from tests.support.agents import FakeAgent

FINDINGS = (builders.finding(),)
PATCHES = (builders.patch(),)
TREE = builders.TextTree(builders.source(), {"vllm/runner.py": "def ids():\n    return ids\n"})


def engine_answers(context: AgentContext) -> AgentResult:
    context.engine.keep(TREE)
    return AgentResult(answers=(builders.answer(),), sources=(TREE.source,), trees={"vllm": TREE})


def assembly(findings=FINDINGS, patches=PATCHES, agents=None, **changes) -> Assembly:
    """An assembly whose judge finds ``findings`` and whose repair makes ``patches``."""
    engine, *others = agents or (FakeAgent("vllm", act=engine_answers), FakeAgent("hub"))
    return Assembly(
        team=Team(engine=engine, hub=others[0], others=tuple(others[1:])),
        judge=lambda case, gathered: Judgement(
            findings=tuple(findings), default_runner=Runner.V1, default_runner_why="it is the only one"
        ),
        repair=changes.get("repair", lambda case, gathered, judgement, sink: Repairs(patches=tuple(patches))),
    )


@dataclass(frozen=True)
class Question:
    promise: str
    asked: tuple[str, ...]


def install(monkeypatch, made: Assembly) -> None:
    """Let the commands find ``made`` where they look for the real team."""
    team = ModuleType("investigator.team")

    @contextmanager
    def assemble(case, settings, sink, **options) -> Iterator[Assembly]:
        team.given = options
        yield made

    team.assemble = assemble
    team.pinned = lambda case, settings, sink=None: case
    team.questions = lambda engines=(): {
        "target-layer-offset": Question("id k taps decoder layer k", ("vllm", "hub"))
    }
    monkeypatch.setitem(sys.modules, "investigator.team", team)
