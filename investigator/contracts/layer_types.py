"""Each draft layer gets its own window from ``layer_types`` and ``sliding_window``.

Common terms: one window per draft layer, in tokens; None for a layer that sees everything.
A mixed drafter is supported, or refused with an error that names the reason; run silently
as all-full it is broken. First seen: vLLM pull request 40898.
"""

from investigator.checkpoint import Checkpoint
from investigator.contracts.contract import Contract, Judgement, Sides, conditional
from investigator.model import Json, Known, NotKnown, Outcome, Verdict


def _ask(checkpoint: Checkpoint) -> tuple[Outcome, tuple[str, ...]]:
    """The windows that this checkpoint's keys give its layers."""
    if checkpoint.windows is None:
        return NotKnown("the checkpoint does not say how its layers attend"), ()
    return Known(list(checkpoint.windows)), ("layer_types", "sliding_window", "use_sliding_window")


def _applies(checkpoint: Checkpoint) -> str | None:
    if checkpoint.windows is not None and all(window is None for window in checkpoint.windows):
        return "every draft layer attends to everything, so there is no window to honour"
    return None


def _compare(reference: Json, engine: Json, sides: Sides) -> Judgement:
    assert isinstance(reference, list | tuple)
    assert isinstance(engine, list | tuple)
    promised = f"the draft layers' windows are {describe(reference)}"
    happens = f"the engine gives them {describe(engine)}"
    if list(reference) == list(engine):
        why = conditional(happens, sides)
        return Judgement(verdict=Verdict.HONOURED, why=why, promised=promised, happens=happens)
    if all(window is None for window in engine):
        count = sum(window is not None for window in reference)
        why = f"{count} sliding layers of {len(reference)} run as full attention, without a word"
    else:
        wrong = [i for i, (a, b) in enumerate(zip(reference, engine, strict=False)) if a != b]
        why = f"layers {wrong} get another window than they were trained with"
    return Judgement(verdict=Verdict.BROKEN, why=why, promised=promised, happens=happens)


def describe(windows: Json) -> str:
    """``4 × 2048, full``: runs of equal windows."""
    assert isinstance(windows, list | tuple)
    runs: list[tuple[str, int]] = []
    for window in windows:
        word = "full" if window is None else str(window)
        if runs and runs[-1][0] == word:
            runs[-1] = (word, runs[-1][1] + 1)
        else:
            runs.append((word, 1))
    return ", ".join(word if count == 1 else f"{count} × {word}" for word, count in runs)


CONTRACT = Contract(
    id="layer-types",
    promise="each draft layer gets its own window from layer_types and sliding_window;"
    " a mixed drafter is supported or refused with a clear error, never run silently as all-full",
    consequence="the drafter attends to context that it never saw in training: beyond the window almost"
    " nothing is accepted",
    ask_checkpoint=_ask,
    compare=_compare,
    applies=_applies,
    needs_reference=False,  # the checkpoint's own keys are the promise; the reference only agrees
    may_be_refused=True,
)
