"""Train a pair: a Qwen3-style target on Python source, then a DFlash drafter on that target.

Everything is drawn from one seed, and every gradient comes from kernels that give the same sum
each time, so the same command on the same kind of machine with the same torch gives the same
bytes. Runs where only torch, safetensors and tokenizers are installed.

    python -m investigator.validation.train tiny --out DIR [--seed 0] [--minutes 3:4]
"""

import argparse
import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from investigator.validation import corpus
from investigator.validation.checkpoint_files import read_tokenizer, write_checkpoint, write_tokenizer
from investigator.validation.reference import (
    Drafter,
    Geometry,
    Weights,
    draft_states,
    head,
    read_weights,
    target_head,
    target_states,
)
from investigator.validation.specs import SPECIAL_TOKENS, SPECS, PairSpec

Log = Callable[[dict[str, Any]], None]

_DISCOUNT = 0.85
"""How much less each further token of a block counts: a late token is only used after the early ones."""


def train_tokenizer(texts: Sequence[str], vocabulary: int) -> Any:
    """Byte-level BPE; the special tokens have the first ids."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=list(SPECIAL_TOKENS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def encode(tokenizer: Any, texts: Sequence[str]) -> Tensor:
    """All texts as one row of ids, each followed by the end token."""
    rows = []
    for at in range(0, len(texts), 256):
        for encoding in tokenizer.encode_batch(list(texts[at : at + 256])):
            rows.append(torch.tensor([*encoding.ids, 0], dtype=torch.int16))
    return torch.cat(rows)


def initial(shapes: dict[str, tuple[int, ...]], seed: int, layers: int, device: str) -> dict[str, Tensor]:
    """Float32 parameters: ones for norms, small normals else, smaller where a residual is written."""
    source = torch.Generator().manual_seed(seed)
    weights = {}
    for name, shape in shapes.items():
        if len(shape) == 1:
            value = torch.ones(shape)
        else:
            scale = (
                0.02 / math.sqrt(2 * layers) if name.endswith(("o_proj.weight", "down_proj.weight")) else 0.02
            )
            value = torch.randn(shape, generator=source) * scale
        weights[name] = value.to(device).requires_grad_()
    return weights


def layer_shapes(spec: PairSpec, prefix: str, count: int) -> dict[str, tuple[int, ...]]:
    """Names and shapes of ``count`` Qwen3 decoder layers."""
    hidden, wide, narrow = spec.hidden, spec.heads * spec.head_dim, spec.kv_heads * spec.head_dim
    one = {
        "input_layernorm": (hidden,),
        "post_attention_layernorm": (hidden,),
        "self_attn.q_norm": (spec.head_dim,),
        "self_attn.k_norm": (spec.head_dim,),
        "self_attn.q_proj": (wide, hidden),
        "self_attn.k_proj": (narrow, hidden),
        "self_attn.v_proj": (narrow, hidden),
        "self_attn.o_proj": (hidden, wide),
        "mlp.gate_proj": (spec.intermediate, hidden),
        "mlp.up_proj": (spec.intermediate, hidden),
        "mlp.down_proj": (hidden, spec.intermediate),
    }
    return {f"{prefix}{i}.{name}.weight": shape for i in range(count) for name, shape in one.items()}


def target_shapes(spec: PairSpec) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the target's tensors."""
    return {
        "model.embed_tokens.weight": (spec.vocabulary, spec.hidden),
        **layer_shapes(spec, "model.layers.", spec.target_layers),
        "model.norm.weight": (spec.hidden,),
        "lm_head.weight": (spec.vocabulary, spec.hidden),
    }


def draft_shapes(spec: PairSpec) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the drafter's tensors; embeddings and head are the target's."""
    return {
        "fc.weight": (spec.hidden, spec.hidden * len(spec.target_layer_ids)),
        "hidden_norm.weight": (spec.hidden,),
        **layer_shapes(spec, "layers.", len(spec.windows)),
        "norm.weight": (spec.hidden,),
    }


def batches(tokens: Tensor, spec: PairSpec, seed: int, device: str) -> Iterator[Tensor]:
    """Random crops for ever: int64 [batch, sequence + 1]."""
    source = torch.Generator().manual_seed(seed)
    reach = torch.arange(spec.sequence + 1, device=device)
    tokens = tokens.to(device)
    while True:
        starts = torch.randint(len(tokens) - spec.sequence - 1, (spec.batch, 1), generator=source)
        yield tokens[starts.to(device) + reach].long()


def target_loss(weights: Weights, geometry: Geometry, rows: Tensor) -> Tensor:
    """Mean cross-entropy of the next token."""
    states = target_states(weights, geometry, rows[:, :-1])
    logits = target_head(weights, geometry, states[-1])
    return F.cross_entropy(logits.float().flatten(0, 1), rows[:, 1:].flatten())


def draft_loss(
    draft: Weights, target: Weights, geometry: Geometry, drafter: Drafter, rows: Tensor, anchors: Tensor
) -> tuple[Tensor, Tensor]:
    """Loss over the blocks that start at ``anchors`` [N], and the accepted tokens a block would get.

    A block is scored up to the first place where the text parts from what the target would have
    written itself: only there does a verified draft ever stand.
    """
    size = drafter.block_size
    ids = rows[:, :-1]
    with torch.no_grad():
        states = target_states(target, geometry, ids)
        choice = target_head(target, geometry, states[-1]).argmax(-1)
        features = drafter.features(states)
    query = (anchors[:, None] + torch.arange(size, device=ids.device)).flatten()
    anchor = anchors.repeat_interleave(size)
    block = torch.full((ids.shape[0], len(query)), drafter.mask_token, device=ids.device)
    block[:, ::size] = ids[:, anchors]
    noise = F.embedding(block, target["model.embed_tokens.weight"])
    hidden = draft_states(draft, drafter, features, noise, first=0, query=query, anchor=anchor)
    hidden = hidden.view(ids.shape[0], len(anchors), size, -1)[:, :, 1:]
    logits = head(target, hidden).float()
    places = query.view(len(anchors), size)
    wanted = choice[:, places[:, :-1].flatten()].view(ids.shape[0], len(anchors), size - 1)
    written = ids[:, places[:, 1:].flatten()].view_as(wanted)
    reached = (wanted == written).long().cumprod(-1).roll(1, -1)
    reached[..., 0] = 1
    discount = _DISCOUNT ** torch.arange(size - 1, device=ids.device)
    share = reached * discount
    each = F.cross_entropy(logits.flatten(0, 2), wanted.flatten(), reduction="none").view_as(share)
    loss = (each * share).sum() / share.sum()
    right = (logits.argmax(-1) == wanted).long() * reached
    return loss, right.cumprod(-1).sum(-1).float().mean()


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


def train(
    spec: PairSpec,
    out: Path,
    seed: int,
    device: str,
    minutes: tuple[float, float] | None,
    target: Path | None,
) -> None:
    """Train both models and write ``out/target``, ``out/draft`` and ``out/training.jsonl``.

    ``minutes`` (target, drafter) replaces the spec's numbers of steps by what this machine does in
    that time; the log holds the numbers that were used, which make the run repeatable. With
    ``target``, a folder that such a run wrote, only a drafter for it is trained.
    """
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True)
    torch.backends.cuda.enable_cudnn_sdp(False)  # its backward pass sums in any order
    torch.utils.deterministic.fill_uninitialized_memory = False
    torch.manual_seed(seed)
    dtype = torch.float32 if device == "cpu" else torch.bfloat16
    out.mkdir(parents=True, exist_ok=True)
    with (out / "training.jsonl").open("w", encoding="utf-8") as file:

        def log(line: dict[str, Any]) -> None:
            file.write(json.dumps(line) + "\n")
            file.flush()
            print(spec.name, json.dumps(line), flush=True)  # noqa: T201

        texts = corpus.training_texts(spec.corpus_bytes)
        tokenizer = (
            train_tokenizer(texts[:1500], spec.vocabulary) if target is None else read_tokenizer(target)
        )
        tokens = encode(tokenizer, texts)
        log({"spec": asdict(spec), "seed": seed, "torch": torch.__version__, "python": sys.version.split()[0],
             "device": torch.cuda.get_device_name() if device != "cpu" else "cpu",
             "files": len(texts), "bytes": sum(map(len, texts)), "sha256": corpus.digest(texts),
             "tokens": len(tokens)})  # fmt: skip
        if target is None:
            frozen = train_target(spec, seed, device, tokens, log, minutes and minutes[0])
            write_tokenizer(out / "target", tokenizer)
            write_checkpoint(out / "target", spec.target_config(), frozen)
        else:
            frozen = read_weights(target, device, dtype)
        draft = train_draft(spec, seed, device, tokens, frozen, log, minutes and minutes[1])
        write_checkpoint(out / "draft", spec.draft_config(), draft)


def train_target(
    spec: PairSpec, seed: int, device: str, tokens: Tensor, log: Log, minutes: float | None
) -> Weights:
    """The target's weights, rounded as they will be stored."""
    dtype = torch.float32 if device == "cpu" else torch.bfloat16
    geometry = Geometry.of(spec.target_config())

    def start() -> tuple[dict[str, Tensor], Callable[[Weights], tuple[Tensor, Tensor]]]:
        rows = batches(tokens, spec, seed + 1, device)

        def language(weights: Weights) -> tuple[Tensor, Tensor]:
            loss = target_loss(weights, geometry, next(rows))
            return loss, loss.detach()

        return initial(target_shapes(spec), seed, spec.target_layers, device), language

    weights = fit(start, "target", spec.target_steps, spec.learning_rate, log, dtype, minutes)
    return {name: weight.to(torch.bfloat16).to(dtype) for name, weight in weights.items()}


def train_draft(
    spec: PairSpec,
    seed: int,
    device: str,
    tokens: Tensor,
    target: Weights,
    log: Log,
    minutes: float | None,
) -> Weights:
    """The weights of a drafter for ``target``."""
    dtype = next(iter(target.values())).dtype
    geometry = Geometry.of(spec.target_config())
    drafter = Drafter.of(spec.draft_config())
    last = spec.sequence - spec.block_size

    def start() -> tuple[dict[str, Tensor], Callable[[Weights], tuple[Tensor, Tensor]]]:
        rows = batches(tokens, spec, seed + 2, device)
        source = torch.Generator().manual_seed(seed + 3)

        def speculate(weights: Weights) -> tuple[Tensor, Tensor]:
            # Blocks may overlap in the text: each attends to itself and to what stands before it.
            anchors = torch.randperm(last, generator=source)[: spec.blocks].sort().values + 1
            return draft_loss(weights, target, geometry, drafter, next(rows), anchors.to(device))

        return initial(draft_shapes(spec), seed + 4, len(spec.windows), device), speculate

    return fit(start, "draft", spec.draft_steps, spec.learning_rate, log, dtype, minutes)


def main(arguments: Sequence[str] | None = None) -> None:
    """Train the named pair."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("pair", choices=sorted(SPECS))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--steps", help="TARGET:DRAFTER, instead of the pair's own")
    parser.add_argument("--minutes", help="TARGET:DRAFTER, as many steps as fit; the log says how many")
    parser.add_argument("--target", type=Path, help="train only a drafter, for the target in this folder")
    parser.add_argument("--batch", type=int, help="sequences a step, instead of the pair's own")
    parser.add_argument("--window", type=int, help="of sliding draft layers, instead of the pair's own")
    parser.add_argument("--corpus-bytes", type=int)
    options = parser.parse_args(arguments)
    spec = SPECS[options.pair]
    if options.steps:
        first, second = (int(part) for part in options.steps.split(":"))
        spec = replace(spec, target_steps=first, draft_steps=second)
    if options.window:
        spec = replace(spec, windows=tuple(window and options.window for window in spec.windows))
    spec = replace(
        spec, batch=options.batch or spec.batch, corpus_bytes=options.corpus_bytes or spec.corpus_bytes
    )
    minutes = None
    if options.minutes:
        ahead, behind = (float(part) for part in options.minutes.split(":"))
        minutes = (ahead, behind)
    train(spec, options.out, options.seed, options.device, minutes, options.target)


if __name__ == "__main__":
    main(sys.argv[1:])
