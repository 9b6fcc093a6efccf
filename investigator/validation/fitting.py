"""Gradient descent on one model of a pair: the schedule, the loop, and how many steps fit into a time."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from investigator.validation.reference.decoder import Weights

Log = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class Schedule:
    """AdamW with warm-up and cosine decay to a tenth."""

    steps: int
    peak: float
    warm_up: int = 100

    def rate(self, step: int) -> float:
        """The learning rate of ``step``."""
        if step < self.warm_up:
            return self.peak * (step + 1) / self.warm_up
        done = (step - self.warm_up) / max(1, self.steps - self.warm_up)
        return self.peak * (0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * min(1.0, done))))


Start = Callable[[], tuple[dict[str, Tensor], Callable[[Weights], tuple[Tensor, Tensor]]]]
"""Fresh parameters, and a function that draws its own batch and returns (loss, score)."""


def fit(
    start: Start, stage: str, steps: int, peak: float, log: Log, dtype: torch.dtype, minutes: float | None
) -> Weights:
    """Train what ``start`` gives and return it, detached."""
    if minutes is not None:
        steps = steps_within(minutes * 60, start, dtype)
    log({"stage": stage, "steps": steps})
    weights, loss_of = start()
    schedule = Schedule(steps, peak)
    matrices = [w for w in weights.values() if w.dim() > 1]
    vectors = [w for w in weights.values() if w.dim() == 1]
    optimiser = torch.optim.AdamW(
        [{"params": matrices, "weight_decay": 0.05}, {"params": vectors, "weight_decay": 0.0}],
        lr=peak,
        betas=(0.9, 0.95),
        fused=matrices[0].is_cuda,
    )
    began = time.monotonic()
    for step in range(steps):
        for group in optimiser.param_groups:
            group["lr"] = schedule.rate(step)
        loss, score = loss_of({name: weight.to(dtype) for name, weight in weights.items()})
        loss.backward()
        torch.nn.utils.clip_grad_norm_(list(weights.values()), 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        if step % 200 == 0 or step == steps - 1:
            log({"step": step, "loss": round(loss.item(), 4), "score": round(score.item(), 4),
                 "seconds": round(time.monotonic() - began, 1)})  # fmt: skip
    return {name: weight.detach() for name, weight in weights.items()}


def steps_within(seconds: float, start: Start, dtype: torch.dtype) -> int:
    """How many steps fit into ``seconds``, from timing a few that are thrown away."""
    weights, loss_of = start()

    def run(count: int) -> float:
        began = time.monotonic()
        for _ in range(count):
            loss, _ = loss_of({name: weight.to(dtype) for name, weight in weights.items()})
            loss.backward()
        loss.item()
        return time.monotonic() - began

    run(5)
    # The optimiser's own time is not in these: four fifths leave room for it.
    return max(200, int(0.8 * seconds * 20 / run(20)))
