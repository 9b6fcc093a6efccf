"""Train a pair: a target on Python source, then a DFlash drafter on that target.

Everything is drawn from one seed, and every gradient comes from kernels that give the same sum
each time, so the same command on the same kind of machine with the same torch gives the same
bytes. Runs where only torch, safetensors and tokenizers are installed.

    python -m investigator.validation.train tiny --out DIR [--seed 0] [--minutes 3:4]
"""

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from investigator.validation import corpus
from investigator.validation.checkpoint_files import read_tokenizer, write_checkpoint, write_tokenizer
from investigator.validation.fitting import Log, fit
from investigator.validation.reference.checkpoints import read_weights
from investigator.validation.reference.decoder import Geometry, Weights, head, target_head, target_states
from investigator.validation.reference.drafter import Drafter, draft_states
from investigator.validation.shapes import draft_shapes, initial, target_shapes
from investigator.validation.specs import SPECIAL_TOKENS, SPECS, PairSpec

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
