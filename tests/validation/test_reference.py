"""The reference semantics, on a pair small enough to be made up on the spot."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the extra 'validate' is not installed")
torch.set_num_threads(1)  # many small steps: threads would only wait for each other

from investigator.validation.checkpoint_files import write_checkpoint  # noqa: E402
from investigator.validation.reference.checkpoints import load_pair  # noqa: E402
from investigator.validation.reference.decoder import (  # noqa: E402
    Geometry,
    KeyValues,
    head,
    target_head,
    target_states,
)
from investigator.validation.reference.drafter import Drafter, draft_states  # noqa: E402
from investigator.validation.reference.generation import (  # noqa: E402
    Counters,
    Pair,
    generate,
)
from investigator.validation.reference.semantics import FAULTS, REFERENCE, Semantics, combine  # noqa: E402
from investigator.validation.shapes import draft_shapes, initial, target_shapes  # noqa: E402
from investigator.validation.specs import MICRO, PairSpec  # noqa: E402

SPEC = replace(
    MICRO, vocabulary=64, hidden=32, head_dim=16, heads=2, kv_heads=1, intermediate=48,
    windows=(8, 8, None), target_layer_ids=(1, 2, 4), sequence=64,
)  # fmt: skip
CONFIG: Mapping[str, Any] = SPEC.draft_config()


def made_up(spec: PairSpec = SPEC) -> Pair:
    """A pair of random weights, large enough that no two choices are near."""

    def weights(shapes: dict[str, tuple[int, ...]], seed: int) -> dict[str, Any]:
        drawn = initial(shapes, seed, spec.target_layers, "cpu")
        return {name: w.detach() * (8 if w.dim() > 1 else 1) for name, w in drawn.items()}

    return Pair(
        target=weights(target_shapes(spec), 0),
        draft=weights(draft_shapes(spec), 1),
        target_geometry=Geometry.of(spec.target_config()),
        draft_config=spec.draft_config(),
    )


def continue_greedily(pair: Pair, prompt: Sequence[int], new_tokens: int) -> list[int]:
    """The target alone: what speculation must not change."""
    cache = KeyValues(pair.target_geometry.layers)
    device = pair.target["model.embed_tokens.weight"].device
    ids, start = torch.tensor([list(prompt)], device=device), 0
    output: list[int] = []
    with torch.inference_mode():
        while len(output) < new_tokens:
            states = target_states(pair.target, pair.target_geometry, ids, start, cache)
            start += ids.shape[1]
            token = int(target_head(pair.target, pair.target_geometry, states[-1][:, -1]).argmax(-1))
            output.append(token)
            ids = torch.tensor([[token]], device=device)
    return output


PROMPT = [int(i) for i in torch.randint(64, (30,), generator=torch.Generator().manual_seed(0))]


@pytest.mark.parametrize("semantics", [REFERENCE, *FAULTS.values()], ids=["reference", *FAULTS])
def test_speculation_changes_no_token_whatever_the_drafter_does(semantics: Semantics) -> None:
    pair = made_up()
    assert generate(pair, PROMPT, 24, semantics).output == continue_greedily(pair, PROMPT, 24)


@pytest.mark.parametrize("semantics", [REFERENCE, *FAULTS.values()], ids=["reference", *FAULTS])
def test_drafts_with_a_cache_are_those_of_the_whole_text_at_once(semantics: Semantics) -> None:
    """What training computes for many blocks in one go is what generation computes block by block."""
    pair = made_up()
    done = generate(pair, PROMPT, 24, semantics)
    text = torch.tensor([PROMPT + done.output])
    drafter = Drafter.of(CONFIG, semantics)
    starts, at = [], len(PROMPT)
    for drafted in done.drafted:
        starts.append(at)
        follows = text[0, at + 1 :].tolist()
        at += 1 + next((i for i, t in enumerate(drafted) if i >= len(follows) or t != follows[i]), 7)
    anchors = torch.tensor([s for s in starts if s + 8 <= text.shape[1]])
    query = (anchors[:, None] + torch.arange(8)).flatten()
    block = torch.full((1, len(query)), drafter.mask_token)
    block[:, ::8] = text[:, anchors]
    embed = pair.target["model.embed_tokens.weight"]
    hidden = draft_states(
        pair.draft, drafter, drafter.features(target_states(pair.target, pair.target_geometry, text)),
        torch.nn.functional.embedding(block, embed),
        first=0, query=query, anchor=anchors.repeat_interleave(8),
    )  # fmt: skip
    proposed = head(pair.target, hidden.view(1, -1, 8, 32)[:, :, 1:]).argmax(-1)[0].tolist()
    assert len(proposed) > 5
    assert proposed == done.drafted[: len(proposed)]


def test_every_fault_but_the_order_of_ids_changes_what_is_drafted() -> None:
    pair = made_up()
    right = generate(pair, PROMPT, 24).drafted
    changed = {name for name, fault in FAULTS.items() if generate(pair, PROMPT, 24, fault).drafted != right}
    # These ids are in ascending order, so sorting them is no fault here.
    assert changed == set(FAULTS) - {"feature-width"}


def test_taps_are_one_past_the_layer_and_keep_the_order_of_the_config() -> None:
    config = {**CONFIG, "dflash_config": {"mask_token_id": 1, "target_layer_ids": [4, 1]}}
    assert Drafter.of(config).taps == (5, 2)
    assert Drafter.of(config, FAULTS["target-layer-offset"]).taps == (4, 1)
    assert Drafter.of(config, FAULTS["feature-width"]).taps == (2, 5)


def seen(layer: int, semantics: Semantics = REFERENCE) -> list[list[int]]:
    """For a block of 4 at position 20 with a window of 8: the positions that each query sees."""
    drafter = Drafter.of(CONFIG, semantics)
    query = torch.arange(20, 24)
    visible = drafter.visible(layer, torch.arange(20), query, torch.full_like(query, 20))
    return [[int(k) for k in row.nonzero().flatten()] for row in visible]


def test_a_sliding_layer_is_causal_in_the_block_and_sees_its_window() -> None:
    assert seen(0) == [list(range(13, 21)), list(range(14, 22)), list(range(15, 23)), list(range(16, 24))]


def test_a_full_layer_sees_everything_before_the_block_and_all_of_the_block() -> None:
    assert seen(2) == [list(range(24))] * 4


def test_an_ignored_window_makes_a_sliding_layer_like_a_full_one() -> None:
    assert seen(0, FAULTS["layer-types"]) == [list(range(24))] * 4


def test_without_causality_a_sliding_layer_sees_its_block_and_keeps_its_window() -> None:
    assert seen(0, FAULTS["in-block-causality"])[0] == list(range(13, 24))
    assert seen(0, FAULTS["in-block-causality"])[3] == list(range(16, 24))


def test_is_causal_in_the_config_decides_for_every_layer() -> None:
    assert Drafter.of({**CONFIG, "is_causal": True}).causal == (True, True, True)
    assert Drafter.of({**CONFIG, "is_causal": False}).causal == (False, False, False)


PAIRS = replace(SPEC, rotates_pairs=True)


def in_pairs(matrix: Any) -> Any:
    """Rows of a query or key projection, those that rotate together put side by side."""
    order = torch.arange(SPEC.head_dim).view(2, -1).t().flatten()
    return matrix.view(-1, SPEC.head_dim, matrix.shape[1])[:, order].reshape(matrix.shape)


def test_a_target_that_rotates_pairs_is_one_in_halves_with_its_rows_in_another_order() -> None:
    pairs = made_up(PAIRS)
    assert pairs.target_geometry.pairs
    assert not any("norm.weight" in name and "self_attn" in name for name in pairs.target)
    ordered = {
        name: in_pairs(w) if ".q_proj." in name or ".k_proj." in name else w
        for name, w in pairs.target.items()
    }
    ids = torch.tensor([PROMPT])
    halves = target_states(pairs.target, replace(pairs.target_geometry, pairs=False), ids)[-1]
    torch.testing.assert_close(target_states(ordered, pairs.target_geometry, ids)[-1], halves)
    assert not torch.allclose(target_states(pairs.target, pairs.target_geometry, ids)[-1], halves)


def test_a_drafter_rotates_in_halves_beside_a_target_that_rotates_pairs() -> None:
    assert Drafter.of(PAIRS.draft_config()).geometry.pairs is False
    assert Drafter.of(PAIRS.draft_config(), FAULTS["rope"]).geometry.pairs is True


def test_a_pair_of_either_kind_is_read_back_and_no_other(tmp_path: Path) -> None:
    pair = made_up(PAIRS)
    write_checkpoint(tmp_path / "target", PAIRS.target_config(), pair.target)
    write_checkpoint(tmp_path / "draft", PAIRS.draft_config(), pair.draft)
    assert load_pair(tmp_path / "target", tmp_path / "draft").target_geometry == pair.target_geometry
    write_checkpoint(tmp_path / "target", {**PAIRS.target_config(), "model_type": "olmo"}, pair.target)
    with pytest.raises(ValueError, match="qwen3 and ernie4_5 targets, this is olmo"):
        load_pair(tmp_path / "target", tmp_path / "draft")


def test_faults_combine() -> None:
    both = combine(["target-layer-offset", "layer-types"])
    assert both == replace(REFERENCE, tap_shift=0, windows=False, sliding_causal=False)
    assert combine([]) == REFERENCE


def test_counters_count_as_the_engine_does() -> None:
    counters = Counters(per_position=[0] * 4)
    for accepted in (0, 2, 4):
        counters.observe(4, accepted)
    assert counters == Counters(drafts=3, draft_tokens=12, accepted=6, per_position=[2, 2, 1, 1])


def test_rope_theta_is_read_flat_and_nested() -> None:
    nested = {k: v for k, v in CONFIG.items() if k != "rope_theta"} | {"rope_parameters": {"rope_theta": 5e6}}
    assert Geometry.of(CONFIG).rope_theta == 10_000
    assert Geometry.of(nested).rope_theta == 5_000_000
