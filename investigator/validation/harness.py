"""Measure one variant inside the engine's own environment.

Needs vLLM to be importable and nothing of this project: it is copied into experiment folders.
It reads vLLM's own counters, and asks vLLM's scheduler which request each draft belonged to.

    python harness.py EXPERIMENT_DIR VARIANT OUT.json [--without OPTION ...]
"""

import dataclasses
import json
import os
import resource
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

ENVIRONMENT = {
    # In one process the scheduler can be asked which request a draft belonged to.
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    # From 0.22 the FlashInfer sampler is the default where it is installed; it compiles at run time.
    "VLLM_USE_FLASHINFER_SAMPLER": "0",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_LOGGING_LEVEL": "WARNING",
    "TOKENIZERS_PARALLELISM": "false",
}

COUNTERS = {
    "drafts": "vllm:spec_decode_num_drafts",
    "draft_tokens": "vllm:spec_decode_num_draft_tokens",
    "accepted": "vllm:spec_decode_num_accepted_tokens",
    "per_position": "vllm:spec_decode_num_accepted_tokens_per_pos",
    "prefix_queries": "vllm:prefix_cache_queries",
    "prefix_hits": "vllm:prefix_cache_hits",
}


class Listener:
    """Drafts by request and prefix-cache lookups, taken where vLLM's scheduler counts them.

    The public counters have no split by request, and lose the prefix-cache lookups of every step
    that gives no output.
    """

    def __init__(self) -> None:
        self.rows: dict[str, dict[str, Any]] = {}
        self.prefix: dict[str, int] = {}
        self.notes: list[str] = []

    def listen(self) -> None:
        """Stand beside the scheduler's own counting; it goes on as before."""
        try:
            from vllm.v1.core.sched.scheduler import Scheduler

            counted = Scheduler.make_spec_decoding_stats
        except (ImportError, AttributeError) as error:
            self.notes.append(f"no drafts by prompt: {error}")
        else:

            def count(scheduler: Any, *args: Any, **named: Any) -> Any:
                self.observe(named)
                return counted(scheduler, *args, **named)

            Scheduler.make_spec_decoding_stats = count
        try:
            from vllm.v1.core.kv_cache_manager import KVCacheManager

            made = KVCacheManager.make_prefix_cache_stats
        except (ImportError, AttributeError) as error:
            self.notes.append(f"prefix-cache lookups as the public counters give them: {error}")
        else:

            def make(manager: Any) -> Any:
                stats = made(manager)
                if stats is not None:
                    for name in ("queries", "hits"):
                        self.prefix[name] = self.prefix.get(name, 0) + getattr(stats, name)
                return stats

            KVCacheManager.make_prefix_cache_stats = make

    def observe(self, named: Mapping[str, Any]) -> None:
        """One verified draft, from the arguments of the scheduler's own call."""
        proposed, request = named.get("num_draft_tokens"), named.get("request_id")
        if not proposed or request is None:
            return
        accepted = named["num_accepted_tokens"]
        proposed -= (named.get("num_invalid_spec_tokens") or {}).get(request, 0)
        # Newer releases append a random part to the id that the caller sees.
        row = self.rows.setdefault(
            str(request).split("-")[0], {"drafts": 0, "draft_tokens": 0, "accepted": 0, "per_position": []}
        )
        row["drafts"] += 1
        row["draft_tokens"] += proposed
        row["accepted"] += accepted
        row["per_position"] += [0] * (accepted - len(row["per_position"]))
        for position in range(accepted):
            row["per_position"][position] += 1


def read_counters(llm: Any) -> dict[str, Any]:
    """vLLM's counters now; one that this engine does not have is missing."""
    found: dict[str, Any] = {}
    for metric in llm.get_metrics():
        for name, theirs in COUNTERS.items():
            if metric.name == theirs:
                values = getattr(metric, "values", None)
                if values is None:
                    found[name] = found.get(name, 0) + metric.value
                else:
                    before = found.get(name, [0] * len(values))
                    found[name] = [a + b for a, b in zip(before, values, strict=True)]
    return found


def difference(after: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """What was counted between two readings."""
    return {
        name: [a - b for a, b in zip(value, before.get(name) or [0] * len(value), strict=True)]
        if isinstance(value, list)
        else value - before.get(name, 0)
        for name, value in after.items()
    }


def accepted_options(wanted: Mapping[str, Any], without: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """The options that this release knows, and a line for each that it does not."""
    from vllm.engine.arg_utils import EngineArgs

    known = {field.name for field in dataclasses.fields(EngineArgs)}
    options, notes = {}, []
    for name, value in wanted.items():
        if name in without:
            notes.append(f"{name} was refused, so it was left out")
        elif name not in known:
            notes.append(f"this release has no option {name}")
        else:
            options[name] = value
    return options, notes


def engine_options(experiment: Mapping[str, Any], variant: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The options that every variant runs with; only speculation differs.

    Eager mode, unless the experiment's own options say otherwise. Its ``speculative_config`` adds to
    the one made here.
    """

    def place(name: str) -> str:
        inside = folder / name
        return str(inside) if inside.exists() else name

    options: dict[str, Any] = {
        "model": place(experiment["pair"]["target"]),
        "enforce_eager": True,
        "disable_log_stats": False,
        "enable_prefix_caching": True,
        "seed": 0,
        # Prompts are ids: a tokenizer is only loaded where it is at hand, as engines expect one.
        "skip_tokenizer_init": not (folder / experiment["pair"]["target"] / "tokenizer.json").is_file(),
        "trust_remote_code": False,
        "max_model_len": experiment["max_model_len"],
        "max_num_seqs": min(64, experiment["prompt_count"]),
        **experiment.get("options", {}),
    }
    further = options.pop("speculative_config", {})
    if variant["speculation"]:
        options["speculative_config"] = {
            "method": experiment["method"],
            "model": place(experiment["pair"]["draft"]),
            "num_speculative_tokens": experiment["speculative_tokens"],
            **further,
        }
    return options


def attention_backends(llm: Any) -> dict[str, int]:
    """How many layers, target's and draft's together, each attention backend serves; empty where
    this release does not tell."""
    found: dict[str, int] = {}
    try:
        for layer in llm.llm_engine.vllm_config.compilation_config.static_forward_context.values():
            name = layer.get_attn_backend().get_name()
            found[name] = found.get(name, 0) + 1
    except AttributeError:
        return {}
    return found


def run_pass(
    llm: Any, prompts: Sequence[Sequence[int]], new_tokens: int, listener: Listener
) -> dict[str, Any]:
    """Generate for every prompt at once and read what was counted."""
    from vllm import SamplingParams

    parameters = SamplingParams(temperature=0.0, max_tokens=new_tokens, ignore_eos=True, detokenize=False)
    before = read_counters(llm)
    listener.rows.clear()
    listener.prefix.clear()
    began = time.monotonic()
    outputs = llm.generate(
        [{"prompt_token_ids": list(prompt)} for prompt in prompts], parameters, use_tqdm=False
    )
    seconds = time.monotonic() - began
    counted = difference(read_counters(llm), before)
    counted |= {f"prefix_{name}": value for name, value in listener.prefix.items()}
    width = len(counted.get("per_position") or [])
    rows = []
    for index, output in enumerate(outputs):
        row = listener.rows.get(str(output.request_id).split("-")[0])
        if row is not None:
            padded = row["per_position"] + [0] * (width - len(row["per_position"]))
            rows.append({"prompt": index, **row, "per_position": padded})
    result: dict[str, Any] = {
        "seconds": seconds,
        "counters": counted,
        "outputs": [list(output.outputs[0].token_ids) for output in outputs],
    }
    if rows and all(sum(row[name] for row in rows) == counted.get(name) for name in ("drafts", "accepted")):
        result["prompts"] = rows
    elif rows:
        result["note"] = "drafts by prompt do not add up to vLLM's counters and were dropped"
    return result


def measure(folder: Path, name: str, without: Sequence[str]) -> dict[str, Any]:
    """Load, warm up, measure twice: with a fresh prefix cache, and with what that pass left in it."""
    experiment = json.loads((folder / "experiment.json").read_text())
    variant = next(v for v in experiment["variants"] if v["name"] == name)
    prompts = json.loads((folder / experiment["prompts"]).read_text())
    listener = Listener()
    listener.listen()
    import torch
    import vllm

    options, notes = accepted_options(engine_options(experiment, variant, folder), without)
    began = time.monotonic()
    # vLLM writes its own objects into a dictionary that it is given; this one is reported.
    llm = vllm.LLM(**json.loads(json.dumps(options)))
    loaded = time.monotonic() - began
    began = time.monotonic()
    # Backwards, so that nothing of the warm-up is found in the prefix cache.
    run_pass(llm, [prompt[::-1] for prompt in prompts[:4]], 16, listener)
    warm = time.monotonic() - began
    new_tokens = experiment["new_tokens"]
    passes = {"fresh": run_pass(llm, prompts, new_tokens, listener)}
    passes["reuse"] = run_pass(llm, prompts, new_tokens, listener)
    gpu = torch.cuda.is_available()
    return {
        "status": "done",
        "engine": {
            "name": "vllm",
            "version": vllm.__version__,
            "torch": torch.__version__,
            "python": sys.version.split()[0],
            "device": torch.cuda.get_device_name() if gpu else "cpu",
            "package": str(Path(vllm.__file__).parent),
            "attention": attention_backends(llm),
        },
        "options": options,
        "environment": {key: value for key, value in os.environ.items() if key.startswith("VLLM_")},
        "notes": notes + listener.notes,
        "load_seconds": loaded,
        "warm_up_seconds": warm,
        "peak_memory_bytes": torch.cuda.max_memory_reserved()
        if gpu
        else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "passes": passes,
    }


def failure(error: BaseException) -> dict[str, Any]:
    """How a variant that raised is reported."""
    text = f"{type(error).__name__}: {error}".strip()
    lowered = text.lower()
    if "out of memory" in lowered or "no available memory" in lowered or "free memory" in lowered:
        status = "out-of-memory"
    elif isinstance(error, ValueError | NotImplementedError | AssertionError | TypeError):
        status = "refused"
    else:
        status = "failed"
    return {"status": status, "error": text[:2000], "traceback": traceback.format_exc()[-6000:]}


def main(arguments: Sequence[str], measured: Callable[..., dict[str, Any]] = measure) -> None:
    """Measure one variant; what happened is in the file, also when it went wrong."""
    folder, name, out = Path(arguments[0]).resolve(), arguments[1], Path(arguments[2])
    without = arguments[4:] if len(arguments) > 3 else []
    for key, value in ENVIRONMENT.items():
        os.environ.setdefault(key, value)
    try:
        result = measured(folder, name, without)
        text = json.dumps({"variant": name, **result})
    except (Exception, SystemExit) as error:
        result = failure(error)
        text = json.dumps({"variant": name, **result})
    part = out.with_suffix(".part")
    part.write_text(text)
    part.replace(out)
    # vLLM leaves threads behind that can keep a finished process alive.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0 if result["status"] == "done" else 1)


if __name__ == "__main__":
    main(sys.argv[1:])
