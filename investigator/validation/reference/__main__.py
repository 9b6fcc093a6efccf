"""Measure one variant of the reference semantics."""

import argparse
import json
import resource
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from investigator.validation.reference.checkpoints import load_pair
from investigator.validation.reference.generation import Pair, generate
from investigator.validation.reference.semantics import FAULTS, Semantics, combine


def measure(
    pair: Pair,
    prompts: Sequence[Sequence[int]],
    new_tokens: int,
    semantics: Semantics,
    speculative_tokens: int | None,
    time_limit: float | None = None,
) -> dict[str, Any]:
    """One variant over all prompts, in the shape that the harness writes for a pass."""
    began, rows, outputs = time.monotonic(), [], []
    for index, prompt in enumerate(prompts):
        if time_limit is not None and time.monotonic() - began > time_limit:
            raise TimeoutError(f"{index} of {len(prompts)} prompts done in {time_limit:.0f} s")
        done = generate(pair, prompt, new_tokens, semantics, speculative_tokens)
        rows.append({"prompt": index, **asdict(done.counters)})
        outputs.append(done.output)
    return {"seconds": time.monotonic() - began, "prompts": rows, "outputs": outputs}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure one variant and write its result."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--draft", type=Path, required=True)
    parser.add_argument("--prompts", type=Path, required=True, help="JSON: a list of lists of token ids")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--variant", default="reference")
    parser.add_argument("--fault", action="append", default=[], choices=sorted(FAULTS))
    parser.add_argument("--new-tokens", type=int, default=96)
    parser.add_argument("--speculative-tokens", type=int)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="float32", choices=("float32", "bfloat16"))
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    dtype = getattr(torch, options.dtype)
    began = time.monotonic()
    pair = load_pair(options.target, options.draft, options.device, dtype)
    loaded = time.monotonic() - began
    fresh = measure(
        pair,
        json.loads(options.prompts.read_text()),
        options.new_tokens,
        combine(options.fault),
        options.speculative_tokens,
    )
    on_gpu = options.device.startswith("cuda")
    result = {
        "variant": options.variant,
        "status": "done",
        "engine": {"name": "reference", "version": torch.__version__, "device": options.device},
        "options": {"dtype": options.dtype, "faults": options.fault},
        "load_seconds": loaded,
        "peak_memory_bytes": torch.cuda.max_memory_allocated()
        if on_gpu
        else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "passes": {"fresh": fresh},
    }
    options.out.write_text(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1:])
