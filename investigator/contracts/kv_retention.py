"""Context K/V that a draft layer still needs is not recycled while its request runs.

Common terms: tokens of context behind the next one, per draft layer; None for all of them. The
checkpoint's and the reference's answer is what a layer attends to (``window - 1``); the
engine's is what it keeps, ``{"settled": [...], "in flight": [...]}``: with no step in flight,
and with one whose drafts may still be rejected, as under async scheduling.
First seen: vLLM pull request 50169.
"""

from collections.abc import Sequence

from investigator.checkpoint import MTP_ASSISTANT, Checkpoint
from investigator.contracts.contract import Contract, Judgement, Sides
from investigator.model import Json, Known, NotKnown, Outcome, Verdict


def behind(windows: Sequence[int | None]) -> list[Json]:
    """Tokens behind the next one that layers with these windows attend to."""
    return [None if window is None else window - 1 for window in windows]


def _ask(checkpoint: Checkpoint) -> tuple[Outcome, tuple[str, ...]]:
    """How far back this checkpoint's layers see."""
    if checkpoint.layout == MTP_ASSISTANT:
        return NotKnown("an assistant may read its target's K/V instead of keeping its own"), ()
    if checkpoint.windows is None:
        return NotKnown("the checkpoint does not say how its layers attend"), ()
    return Known(behind(checkpoint.windows)), ("layer_types", "sliding_window")


def _applies(checkpoint: Checkpoint) -> str | None:
    if checkpoint.windows is not None and all(window is None for window in checkpoint.windows):
        return "every draft layer attends to everything, and full attention keeps everything"
    return None


def _compare(reference: Json, engine: Json, sides: Sides) -> Judgement:  # noqa: ARG001
    assert isinstance(reference, list | tuple)
    assert isinstance(engine, dict)
    settled, in_flight = engine["settled"], engine["in flight"]
    assert isinstance(settled, list | tuple)
    assert isinstance(in_flight, list | tuple)
    promised = f"the layers see {_listed(reference)} tokens back"
    happens = f"{_listed(settled)} are kept"
    if short := _too_few(reference, settled):
        why = f"context is recycled that layers {sorted(short)} still attend to: {happens}"
        return Judgement(verdict=Verdict.BROKEN, why=why, promised=promised, happens=happens)
    if short := _too_few(reference, in_flight):
        happens = f"{_listed(in_flight)} are kept while a step is in flight"
        why = (
            f"while a step is in flight (async scheduling), layers {sorted(short)} lose the last"
            f" {max(short.values())} tokens of their window"
        )
        return Judgement(verdict=Verdict.PARTIAL, why=why, promised=promised, happens=happens)
    if all(count is None for count in settled):
        happens = "everything is kept: no window reached the layers' K/V cache"
    return Judgement(verdict=Verdict.HONOURED, why=happens, promised=promised, happens=happens)


def _too_few(needed: Sequence[Json], kept: Sequence[Json]) -> dict[int, int]:
    """Layer -> tokens that it needs and that are gone; a full layer that is cut counts as 1."""
    short = {}
    for layer, (want, have) in enumerate(zip(needed, kept, strict=True)):
        if have is None:
            continue
        assert isinstance(have, int)
        if want is None or (isinstance(want, int) and have < want):
            short[layer] = want - have if isinstance(want, int) else 1
    return short


def _listed(counts: Sequence[Json]) -> str:
    """``4 × 2047, all``: runs of equal counts."""
    runs: list[tuple[str, int]] = []
    for count in counts:
        word = "all" if count is None else str(count)
        if runs and runs[-1][0] == word:
            runs[-1] = (word, runs[-1][1] + 1)
        else:
            runs.append((word, 1))
    return ", ".join(word if times == 1 else f"{times} × {word}" for word, times in runs)


CONTRACT = Contract(
    id="kv-retention",
    promise="draft context K/V that a layer still attends to is not recycled",
    consequence="sliding layers read blocks that were given away: acceptance falls, most of all in long"
    " generations and under load",
    ask_checkpoint=_ask,
    compare=_compare,
    applies=_applies,
    needs_reference=False,  # the checkpoint's own windows say how far back its layers see
)
