"""A miniature engine with vLLM's outer shape: enough for the harness, and for nothing else.

How much it accepts is read from :mod:`vllm.models.drafter`, which overlays replace. Prompts
whose first token is special make it misbehave, as engines do.
"""

import os
import time
from dataclasses import dataclass, field, fields
from typing import Any

from vllm.engine.arg_utils import EngineArgs
from vllm.models.drafter import accepted_tokens
from vllm.v1.core.kv_cache_manager import KVCacheManager
from vllm.v1.core.sched.scheduler import Scheduler

__version__ = "0.0.mini"


@dataclass
class SamplingParams:
    temperature: float
    max_tokens: int
    ignore_eos: bool
    detokenize: bool


@dataclass
class Metric:
    name: str
    value: int = 0


@dataclass
class Vector:
    name: str
    values: list[int] = field(default_factory=list)


@dataclass
class Completion:
    token_ids: list[int]


@dataclass
class RequestOutput:
    request_id: str
    outputs: list[Completion]


class LLM:
    def __init__(self, **options: Any) -> None:
        unknown = set(options) - {f.name for f in fields(EngineArgs)}
        if unknown:
            raise TypeError(f"unexpected options {unknown}")
        if os.environ.get("MINIATURE_REFUSES") in options:
            raise ValueError(f"{os.environ['MINIATURE_REFUSES']} is not supported here")
        self.speculative = options.get("speculative_config")
        if self.speculative and os.environ.get("MINIATURE_NO_SPECULATION"):
            raise NotImplementedError("this runner has no method 'dflash'")
        self.width = self.speculative["num_speculative_tokens"] if self.speculative else 0
        self.scheduler = Scheduler(self.width)
        self.next_id = 0
        self.seen: set[tuple[int, ...]] = set()
        self.manager = KVCacheManager()

    def get_metrics(self) -> list[Any]:
        s = self.scheduler
        found: list[Any] = [
            # As in vLLM, lookups of steps without an output never reach the public counters.
            Metric("vllm:prefix_cache_queries", 0),
            Metric("vllm:prefix_cache_hits", 0),
        ]
        if self.speculative:
            found += [
                Metric("vllm:spec_decode_num_drafts", s.drafts),
                Metric("vllm:spec_decode_num_draft_tokens", s.draft_tokens),
                Metric("vllm:spec_decode_num_accepted_tokens", s.accepted),
                Vector("vllm:spec_decode_num_accepted_tokens_per_pos", list(s.per_position)),
            ]
        return found

    def generate(
        self, prompts: list[dict[str, list[int]]], parameters: SamplingParams, use_tqdm: bool
    ) -> Any:
        outputs = []
        for prompt in prompts:
            ids = prompt["prompt_token_ids"]
            misbehave(ids)
            request = f"{self.next_id}-random"
            self.manager.stats.queries += len(ids)
            self.manager.stats.hits += len(ids) if tuple(ids) in self.seen else 0
            self.manager.make_prefix_cache_stats()
            self.seen.add(tuple(ids))
            tokens = [(sum(ids) + i) % 97 for i in range(parameters.max_tokens)]
            done = 1
            while self.speculative and done < len(tokens):
                accepted = accepted_tokens(ids, done, self.width)
                self.scheduler.make_spec_decoding_stats(
                    None,
                    num_draft_tokens=self.width,
                    num_accepted_tokens=accepted,
                    num_invalid_spec_tokens=None,
                    request_id=request,
                )
                done += accepted + 1
            outputs.append(RequestOutput(str(self.next_id), [Completion(tokens)]))
            self.next_id += 1
        return outputs


def misbehave(ids: list[int]) -> None:
    """Prompts that start with 900... stand for what goes wrong on real machines."""
    if ids[0] == 900:
        raise RuntimeError("CUDA out of memory. Tried to allocate 20 GiB")
    if ids[0] == 901:
        os.kill(os.getpid(), 9)
    if ids[0] == 902:
        time.sleep(60)
