"""No verdict hangs on a path or a name: real releases rewritten, and real releases broken.

A rewrite keeps what the code does (modules renamed, helpers moved or written out, locals renamed),
and every verdict has to stay. A fault breaks one thing in a healthy release, and its verdict turns
broken, with those that rest on the same thing and no other. The wheels are fetched at test time.
"""

from collections.abc import Callable
from functools import cache

import pytest
from tree_sitter import Node

from investigator.code.syntax import field, text
from investigator.sources.open import Workspace
from tests.support import mutator
from tests.support.faults import Change, assigning, both, handing, logging_at, passing, renaming, returning
from tests.support.releases import FULL, MIXED, NO_LAYERS, SCALED, Release, open_release_files, shared_folder
from tests.support.shapes import (
    CONFIG,
    DRAFT,
    INTERFACES,
    RUNNER,
    SCHEDULER,
    SECOND,
    SPECULATIVE,
    behind_a_lambda,
    draft_model_renamed,
    everything,
    handed_on_by_a_package,
    helper_written_out,
    helpers_moved,
    index_loops,
    locals_renamed,
    modules_renamed,
    package_renamed,
)

pytestmark = [pytest.mark.network, pytest.mark.slow]

BY_TYPE = "vllm/v1/core/single_type_kv_cache_manager.py"
MANAGER = "vllm/v1/core/kv_cache_manager.py"
BOUNDARY = "get_num_skipped_tokens"
SHARING = "vllm/v1/worker/gpu/spec_decode/eagle/utils.py"
PROPOSER = "vllm/v1/spec_decode/llm_base_proposer.py"
BLOCK = "vllm/v1/spec_decode/dflash.py"
SCALED_DRAFT = "vllm/model_executor/models/qwen3_dflash2.py"
SECOND_SETUP = "set_eagle3_aux_hidden_state_layers"
SECOND_MASK = "vllm/v1/worker/gpu/spec_decode/utils.py"


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Release]:
    workspace = Workspace.open(cache_dir=shared_folder(tmp_path_factory))
    return cache(lambda version: open_release_files(version, workspace))


# -- rewrites ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rewrite",
    [
        modules_renamed,
        package_renamed,
        draft_model_renamed,
        helpers_moved,
        helper_written_out,
        locals_renamed,
        everything,
    ],
    ids=lambda function: function.__name__,
)
@pytest.mark.parametrize("version", ["0.20.1", "0.26.0", "0.33.0"])
def test_a_rewrite_leaves_every_verdict(
    release: Callable[[str], Release], version: str, rewrite: Change
) -> None:
    made = release(version)
    changed = rewrite(made.files)
    assert changed != made.files

    assert made.verdicts(MIXED, changed) == made.verdicts(MIXED)


def test_a_rewrite_leaves_every_verdict_on_a_drafter_of_full_attention(
    release: Callable[[str], Release],
) -> None:
    made = release("0.33.0")

    assert made.verdicts(FULL, everything(made.files)) == made.verdicts(FULL)


@pytest.mark.parametrize(
    ("rewrite", "version"),
    [
        (index_loops, "0.22.1"),
        (index_loops, "0.33.0"),
        (behind_a_lambda, "0.26.0"),
        (behind_a_lambda, "0.33.0"),
        (handed_on_by_a_package, "0.20.1"),
        (handed_on_by_a_package, "0.33.0"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_another_way_to_write_it_is_the_same_or_open(
    release: Callable[[str], Release], version: str, rewrite: Change
) -> None:
    """Unknown is a fine answer to code that nobody has seen; another verdict is not."""
    made = release(version)
    before, after = made.verdicts(MIXED), made.verdicts(MIXED, rewrite(made.files))

    assert {after[question] for question in after if after[question] != before[question]} <= {"unknown"}


# -- faults -----------------------------------------------------------------------------


def without_shift(path: str) -> Change:
    """Ids of ``target_layer_ids`` go on as they are."""

    def unshifted(node: Node) -> str | None:
        body = field(node, "body")
        if '"target_layer_ids"' not in text(node) or body.type != "binary_operator":
            return None
        return text(node).replace(text(body), text(field(body, "left")), 1)

    return lambda files: mutator.edit_nodes(files, path, "list_comprehension", unshifted)


FAULTS: dict[str, tuple[Change, set[str]]] = {
    "the first runner hands ids on unshifted": (without_shift(RUNNER), {"target-layer-offset/v1"}),
    "the second runner hands ids on unshifted": (without_shift(SECOND), {"target-layer-offset/v2"}),
    # Windows that reach no layer: their keys are as good as unread, and the second runner takes each
    # layer's causality from its KV-cache group, of which there is one then.
    "no layer gets its window": (
        passing(DRAFT, "per_layer_sliding_window", "None"),
        {"layer-types/v2", "config-coverage/v2", "in-block-causality/v2"},
    ),
    # The predicate alone changes nothing here: hashes that look ahead make the drop unnecessary.
    "the predicate says drop, and hashes do not look ahead": (
        both(
            returning(SPECULATIVE, "needs_eagle_block_drop", lambda _: "self.use_eagle()"),
            returning(CONFIG, "num_hash_lookahead_tokens", lambda _: "0"),
        ),
        {"cache-drop"},
    ),
    "no slot for the anchor": (
        returning(CONFIG, "num_lookahead_tokens", lambda value: value.removesuffix(" + 1")),
        {"lookahead"},
    ),
    "no slot on the first scheduling": (
        passing(
            SCHEDULER,
            "num_lookahead_tokens",
            "0 if request.num_computed_tokens == 0 else self.num_lookahead_tokens",
        ),
        {"lookahead"},
    ),
    "another mask token": (
        returning(SECOND_MASK, "get_parallel_drafting_token_id", lambda value: f"{value} + 1"),
        {"mask-token/v2"},
    ),
    # What is never kept is never captured, by whichever runner, and the features come out narrower.
    "the target keeps one layer less": (
        assigning(
            INTERFACES,
            "_set_aux_hidden_state_layers",
            "self.aux_hidden_state_layers",
            lambda value: f"{value}[:-1]",
        ),
        {
            *(
                f"{contract}/{runner}"
                for contract in ("target-layer-offset", "target-capture")
                for runner in ("v1", "v2")
            ),
            "feature-width/v1",
            "feature-width/v2",
        },
    ),
    "a projection twice as wide": (
        returning(DRAFT, "_get_dflash_fc_input_size", lambda value: f"2 * ({value})"),
        {"feature-width/v1", "feature-width/v2"},
    ),
}


ON_BOTH = {"0.26.0": MIXED, "0.33.0": MIXED}
FAULTS_BY_RELEASE: dict[str, tuple[Change, dict[str, str], str, set[str]]] = {
    "every layer is causal": (
        returning(DRAFT, "_dflash_layer_causal", lambda _: "True"),
        ON_BOTH,
        "broken",
        {"in-block-causality/v2"},
    ),
    "no layer is causal": (
        returning(DRAFT, "_dflash_layer_causal", lambda _: "False"),
        ON_BOTH,
        "broken",
        {"in-block-causality/v2"},
    ),
    "the first runner's pass is causal": (
        passing(BLOCK, "causal", "True"),
        {"0.22.1": FULL, "0.33.0": FULL},
        "broken",
        {"in-block-causality/v1"},
    ),
    "blocks are freed one token early": (
        returning(BY_TYPE, BOUNDARY, lambda value: f"{value} + 1" if "sliding_window" in value else value),
        ON_BOTH,
        "broken",
        {"kv-retention/v2"},
    ),
    "blocks are freed by what is scheduled": (
        handing(MANAGER, "remove_skipped_blocks", 1, "total_computed_tokens"),
        ON_BOTH,
        "partial",
        {"kv-retention/v2"},
    ),
    "the second runner finds no head to share": (
        returning(SHARING, "get_target_lm_head", lambda _: "None"),
        ON_BOTH,
        "broken",
        {"head-sharing/v2"},
    ),
    "the first runner shares no head": (
        assigning(PROPOSER, "_maybe_share_lm_head", "share_lm_head", lambda _: "False"),
        {"0.22.1": FULL, **ON_BOTH},
        "broken",
        {"head-sharing/v1"},
    ),
    "the draft rotates in pairs": (
        passing(DRAFT, "is_neox_style", "False"),
        {"0.33.0": MIXED},
        "broken",
        {"rope/v1", "rope/v2"},
    ),
    "the draft rotates by a default base": (
        passing(DRAFT, "rope_parameters", '{"rope_type": "default", "rope_theta": 10000}'),
        ON_BOTH,
        "broken",
        {"rope/v1", "rope/v2"},
    ),
    "the mask token is guessed": (
        returning(SECOND_MASK, "get_parallel_drafting_token_id", lambda _: "0"),
        ON_BOTH,
        "broken",
        {"mask-token/v2"},
    ),
    # Nothing is kept, so nothing is captured and nothing given to the projection.
    "the target keeps no layer": (
        assigning(INTERFACES, "_set_aux_hidden_state_layers", "self.aux_hidden_state_layers", lambda _: "()"),
        {"0.33.0": FULL},
        "broken",
        {
            f"{contract}/{runner}"
            for contract in ("target-layer-offset", "target-capture", "feature-width")
            for runner in ("v1", "v2")
        },
    ),
    # What the layers attend to is what is kept for them.
    "windows are one token short": (
        passing(DRAFT, "per_layer_sliding_window", "sliding_window and sliding_window - 1"),
        ON_BOTH,
        "broken",
        {"layer-types/v2", "kv-retention/v2"},
    ),
}
"""A fault: the change, the releases that it is put into with a drafter each, and what turns to what."""


@pytest.mark.parametrize("fault", FAULTS_BY_RELEASE)
def test_a_fault_turns_its_verdict_in_several_releases(release: Callable[[str], Release], fault: str) -> None:
    change, cases, verdict, where = FAULTS_BY_RELEASE[fault]

    for version, draft in cases.items():
        made = release(version)
        before, after = made.verdicts(draft), made.verdicts(draft, change(made.files))
        turned = {question: after[question] for question in after if after[question] != before[question]}
        assert turned == dict.fromkeys(where, verdict), version


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_turns_its_verdict_and_those_that_rest_on_it(
    release: Callable[[str], Release], fault: str
) -> None:
    made = release("0.33.0")
    change, expected = FAULTS[fault]

    before, after = made.verdicts(MIXED), made.verdicts(MIXED, change(made.files))

    assert {
        question: after[question] for question in after if after[question] != before[question]
    } == dict.fromkeys(expected, "broken")


def test_a_predicate_that_another_gate_makes_up_for_changes_nothing(
    release: Callable[[str], Release],
) -> None:
    made = release("0.33.0")
    change = returning(SPECULATIVE, "needs_eagle_block_drop", lambda _: "self.use_eagle()")

    assert made.verdicts(MIXED, change(made.files)) == made.verdicts(MIXED)


# -- contracts that need another drafter -------------------------------------------------


@pytest.mark.parametrize(("level", "verdict"), [("debug", "broken"), ("warning", "honoured")])
def test_how_loud_a_guess_of_layers_is_decides(
    release: Callable[[str], Release], level: str, verdict: str
) -> None:
    made = release("0.33.0")
    change = logging_at(SECOND, SECOND_SETUP, level, "layers from model")

    before, after = made.verdicts(NO_LAYERS), made.verdicts(NO_LAYERS, change(made.files))

    assert before["silent-default/v2"] == "broken"
    assert after == {**before, "silent-default/v2": verdict}


SCALE_FAULTS: dict[str, tuple[Change, dict[str, str]]] = {
    "the scale of embeddings is looked for under another name": (
        renaming(SCALED_DRAFT, "input_embedding_scale", "embedding_scale"),
        {"embedding-scale/v2": "broken", "config-coverage/v2": "broken"},
    ),
    # It changes sampled drafts alone.
    "the scale of logits is looked for under another name": (
        renaming(SCALED_DRAFT, "output_multiplier", "multiplier"),
        {"embedding-scale/v2": "partial", "config-coverage/v2": "broken"},
    ),
    "the scale of embeddings is read and never used": (
        returning(SCALED_DRAFT, "embed_input_ids", lambda value: value.partition(" *")[0]),
        {"embedding-scale/v2": "broken"},
    ),
}


@pytest.mark.parametrize("fault", SCALE_FAULTS)
def test_a_fault_of_scales_turns_its_verdict(release: Callable[[str], Release], fault: str) -> None:
    made = release("0.33.0")
    change, expected = SCALE_FAULTS[fault]

    before, after = made.verdicts(SCALED), made.verdicts(SCALED, change(made.files))

    assert before["embedding-scale/v2"] == "honoured"
    assert after == {**before, **expected}
