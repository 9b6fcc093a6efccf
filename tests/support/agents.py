"""Agents that need no source: they sleep, hand over what they are told to, or fail."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import anyio

from investigator.agents.interface import AgentContext, AgentResult
from investigator.case import Case, EngineSpec, RepoSpec

CASE = Case(engine=EngineSpec.parse("vllm==0.20.1"), draft=RepoSpec.parse("z-lab/Qwen3.6-27B-DFlash"))


def nothing(context: AgentContext) -> AgentResult:
    return AgentResult()


@dataclass(frozen=True)
class FakeAgent:
    """Blocks a worker thread for ``seconds``, as a slow download would, then does ``act``."""

    name: str
    seconds: float = 0.0
    act: Callable[[AgentContext], AgentResult] = nothing

    async def run(self, context: AgentContext) -> AgentResult:
        if self.seconds:
            await anyio.to_thread.run_sync(time.sleep, self.seconds, abandon_on_cancel=True)
        return self.act(context)


@dataclass(frozen=True)
class WaitingAgent:
    """Waits for the checkpoint, and answers only then."""

    name: str

    async def run(self, context: AgentContext) -> AgentResult:
        await context.checkpoint.wait()
        return AgentResult()
