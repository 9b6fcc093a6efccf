"""Each repair makes the toy keep one promise more, and changes nothing else."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from investigator.code.program import Program
from investigator.model import Evidence, Finding, Json, Remedy, RemedyKind, Verdict
from investigator.patches.edits import by_path, edited_files
from investigator.patches.repairs import REPAIRS, CannotRepair, Fault, repair
from investigator.sources.overlay_tree import PatchedTree
from investigator.sources.text_tree import TextTree
from tests.patches import miniature
from tests.patches.miniature import (
    CAUSALITY,
    DROP,
    FILES,
    LOOKAHEAD,
    MODEL,
    OFFSET,
    PROPOSER,
    ROTATION,
    SCHEDULER,
    TYPES,
)

QUESTIONS = {question[0]: question for question in (OFFSET, TYPES, DROP, LOOKAHEAD, CAUSALITY, ROTATION)}


def patched(tree: TextTree, fault: Fault) -> Mapping[str, bytes]:
    edits = repair(Program(tree), fault)
    assert not isinstance(edits, CannotRepair), edits
    assert edits
    return edited_files(edits, {path: tree.read(path) for path in by_path(edits)})


def refusal(tree: TextTree, fault: Fault) -> str:
    found = repair(Program(tree), fault)
    assert isinstance(found, CannotRepair)
    assert found.instead
    return found.reason


@pytest.mark.parametrize("contract", [c for c in REPAIRS if c != "in-block-causality"])
def test_repairs_its_promise_and_no_other(contract: str) -> None:
    tree = miniature.tree()
    ask = miniature.judge()
    before = ask(tree)
    assert before[QUESTIONS[contract]] is Verdict.BROKEN
    after = ask(PatchedTree(tree, dict(patched(tree, miniature.fault(contract)))))
    assert after == {**before, QUESTIONS[contract]: Verdict.HONOURED}


@pytest.mark.parametrize(
    "keys", [{"is_causal": True}, {"dflash_config": {"target_layer_ids": [1, 4], "causal": True}}]
)
def test_a_causal_drafter_is_served_causally(keys: dict[str, Json]) -> None:
    tree = miniature.tree()
    ask = miniature.judge(miniature.checkpoint(**keys))
    before = ask(tree)
    assert before[CAUSALITY] is Verdict.BROKEN
    after = ask(PatchedTree(tree, dict(patched(tree, miniature.fault("in-block-causality", **keys)))))
    assert after == {**before, CAUSALITY: Verdict.HONOURED}


@pytest.mark.parametrize("contract", list(REPAIRS))
def test_a_second_generation_finds_nothing_to_do(contract: str) -> None:
    tree = miniature.tree()
    fault = miniature.fault(contract, is_causal=True)
    after = PatchedTree(tree, dict(patched(tree, fault)))
    assert repair(Program(after), fault) == ()


@pytest.mark.parametrize("contract", list(REPAIRS))
def test_moved_files_are_found_by_their_role(contract: str) -> None:
    """Only what imports name keeps its place; everything else moves."""
    moved = {
        path
        if path.endswith(("attention.py", "manager.py", "algos.py"))
        else path.replace(".py", "_moved.py"): text
        for path, text in FILES.items()
    }
    moved["vllm/v1/core/sched/other_moved.py"] = "def unrelated():\n    return 'use_eagle target_layer_ids'\n"
    assert patched(miniature.tree(moved), miniature.fault(contract, is_causal=True))


@pytest.mark.parametrize("contract", list(REPAIRS))
@pytest.mark.parametrize(
    "disguise",
    [
        lambda text: text.replace("\n", "\r\n").encode(),
        lambda text: text.replace("    ", "\t").encode(),
        lambda text: b"\xef\xbb\xbf" + text.encode(),
        lambda text: b"# caf\xe9\n" + text.encode(),
        lambda text: text.removesuffix("\n").encode(),
    ],
    ids=["crlf", "tabs", "byte-order mark", "latin-1", "no last newline"],
)
def test_files_keep_their_ways(contract: str, disguise: Callable[[str], bytes]) -> None:
    """The same repair, in the file's own line ends, indents and bytes."""
    fault = miniature.fault(contract, is_causal=True)
    plain = patched(miniature.tree(), fault)
    disguised = patched(miniature.tree({path: disguise(text) for path, text in FILES.items()}), fault)
    assert disguised == {path: disguise(content.decode()) for path, content in plain.items()}


def test_the_offset_reads_like_written_by_hand() -> None:
    after = patched(miniature.tree(), miniature.fault("target-layer-offset"))
    assert list(after) == [
        "vllm/v1/worker/gpu_model_runner.py",
        "vllm/transformers_utils/configs/speculators/algos.py",
    ]
    assert (
        "            if dflash_config:\n"
        "                # target_layer_ids counts decoder layers from 0; a target model captures\n"
        "                # layer k's output as number k + 1.\n"
        '                layer_ids = [i + 1 for i in dflash_config.get("target_layer_ids") or []]\n'
    ) in after["vllm/v1/worker/gpu_model_runner.py"].decode()


def test_a_long_line_is_broken() -> None:
    runner = miniature.RUNNER.replace("dflash_config", "a_rather_long_name_for_a_config").replace(
        '"a_rather_long_name_for_a_config"', '"dflash_config"'
    )
    after = patched(miniature.tree(gpu_model_runner=runner), miniature.fault("target-layer-offset"))
    assert (
        "                layer_ids = [\n"
        '                    i + 1 for i in a_rather_long_name_for_a_config.get("target_layer_ids") or []\n'
        "                ]\n"
    ) in after["vllm/v1/worker/gpu_model_runner.py"].decode()


def test_definitions_are_written_before_their_uses() -> None:
    after = patched(miniature.tree(), miniature.fault("cache-drop"))
    assert list(after) == [
        "vllm/config/speculative.py",
        "vllm/v1/core/kv_cache_utils.py",
        "vllm/v1/core/sched/scheduler.py",
    ]


def test_the_drop_never_follows_from_an_annotated_group() -> None:
    """Annotating the drafter's group looks like the fix, and ends reuse altogether."""
    after = patched(miniature.tree(), miniature.fault("cache-drop"))
    assert all(
        b"is_eagle_group = True" not in text or b"not spec_config.drops_last" in text
        for text in after.values()
    )


SWITCHED = (
    miniature.SPECULATIVE
    + '''
    def use_eagle_block_drop(self) -> bool:
        """Whether the last blocks are dropped."""
        return self.use_eagle() and not self.disable_eagle_block_drop
'''
)
SWITCHED_SCHEDULER = SCHEDULER.replace(
    "use_eagle=self.use_eagle,", "use_eagle=self.use_eagle_block_drop,"
).replace(
    "            if speculative_config.uses_draft_model():",
    "            self.use_eagle_block_drop = speculative_config.use_eagle_block_drop()\n"
    "            if self.use_eagle and not self.use_eagle_block_drop:\n"
    '                print("switched off")\n'
    "            if speculative_config.uses_draft_model():",
)


def test_a_drop_with_a_switch_of_its_own_is_narrowed() -> None:
    tree = miniature.tree(speculative=SWITCHED, scheduler=SWITCHED_SCHEDULER)
    after = patched(tree, miniature.fault("cache-drop"))
    assert (
        "        return (\n"
        "            self.use_eagle()\n"
        "            and not self.use_dflash()\n"
        "            and not self.disable_eagle_block_drop\n"
        "        )\n"
    ) in after["vllm/config/speculative.py"].decode()
    scheduler = after["vllm/v1/core/sched/scheduler.py"].decode()
    assert "if self.use_eagle and speculative_config.disable_eagle_block_drop:" in scheduler


def test_windows_from_other_keys_are_refused() -> None:
    keys = {"sliding_window": None, "dflash_config": {"use_swa": True, "swa_window_size": 8}}
    assert "come from other keys" in refusal(miniature.tree(), miniature.fault("layer-types", **keys))


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (
            "for i in range(config.num_hidden_layers)",
            "for i in config.layers",
            "not built in a loop over range",
        ),
        (
            "        self.num_heads = num_heads\n",
            "        sliding_window = 3\n",
            "uses the name sliding_window",
        ),
        ("num_heads=config.num_attention_heads", "num_heads=heads", "not built from the draft config"),
        ("self.attn = Attention(", "self.attn = wrap(Attention)(", "no attention class of the draft model"),
        (
            "class DFlashModel:",
            "class Other(DFlashLayer):\n    x = DFlashLayer()\n\n\nclass DFlashModel:",
            "2 call",
        ),
    ],
)
def test_an_unfamiliar_model_is_refused(old: str, new: str, reason: str) -> None:
    assert old in MODEL
    tree = miniature.tree(qwen3_dflash=MODEL.replace(old, new))
    assert reason in refusal(tree, miniature.fault("layer-types"))


def test_an_attention_that_asks_for_its_window_later_is_refused() -> None:
    later = miniature.ATTENTION + "\n    def forward(self):\n        return self.sliding_window\n"
    assert "asks for its window again" in refusal(
        miniature.tree(attention=later), miniature.fault("layer-types")
    )


def test_a_full_layer_before_and_after_is_the_same() -> None:
    """A drafter without layer_types under a target with a window keeps the spec it had."""
    after = PatchedTree(miniature.tree(), dict(patched(miniature.tree(), miniature.fault("layer-types"))))
    with miniature.imported(after) as load:
        attention = load("vllm.model_executor.layers.attention").Attention
        assert attention(2, cache_window=4).get_kv_cache_spec() == ("sliding", 4)


def test_a_drafter_that_says_nothing_is_sent_to_the_layer_types() -> None:
    found = repair(Program(miniature.tree()), miniature.fault("in-block-causality"))
    assert isinstance(found, CannotRepair)
    assert found.reason.startswith("one attention metadata object serves every layer")
    assert found.instead.startswith("take the patch for layer-types and serve with FlashAttention")


def test_two_sided_windows_are_refused() -> None:
    assert "to both sides" in refusal(
        miniature.tree(), miniature.fault("in-block-causality", is_causal=False)
    )


def test_an_unknown_contract_is_refused() -> None:
    assert refusal(miniature.tree(), miniature.fault("mask-token")) == "no repair is known for this contract"


def test_what_to_do_instead_is_what_the_findings_say() -> None:
    finding = Finding(
        contract="layer-types",
        runner=None,
        verdict=Verdict.BROKEN,
        why="",
        agents=(),
        remedies=(
            Remedy(kind=RemedyKind.RELEASE, ref="9.9", effect="mixed drafters run on the V2 runner"),
            Remedy(kind=RemedyKind.SETTING, ref="VLLM_USE_V2_MODEL_RUNNER=1", effect="the V2 runner"),
            Remedy(kind=RemedyKind.PULL_REQUEST, ref="a/b#1", effect="adds it"),
            Remedy(kind=RemedyKind.PATCH, ref="0001.patch", effect="repairs it"),
        ),
    )
    fault = Fault(contract="layer-types", checkpoint=miniature.checkpoint(), findings=(finding,))
    assert fault.instead() == (
        "use release 9.9 (mixed drafters run on the V2 runner); "
        "or set VLLM_USE_V2_MODEL_RUNNER=1 (the V2 runner); or take a/b#1 (adds it)"
    )


def test_what_only_served_the_copied_layout_goes_with_it() -> None:
    before, after = PROPOSER, patched(miniature.tree(), miniature.fault("rope"))
    start = before.index("        from vllm.model_executor.models.qwen3_dflash")
    end = before.index("        super().load_model(target_model)")

    (path,) = after
    assert path == "vllm/v1/spec_decode/dflash.py"
    assert after[path].decode() == before[:start] + before[end:]


def test_a_layout_that_is_used_elsewhere_keeps_its_name() -> None:
    used = PROPOSER.replace(
        "        super().load_model(target_model)",
        "        self.target_in_halves = is_neox_style\n        super().load_model(target_model)",
    )
    after = patched(miniature.tree(dflash=used), miniature.fault("rope"))

    changed = after["vllm/v1/spec_decode/dflash.py"].decode()
    assert "is_neox_style = layout_of(target_model)" in changed
    assert "hf_config.is_neox_style =" not in changed


def test_an_embedding_that_is_the_targets_own_wants_other_settings() -> None:
    tree = miniature.tree()
    fault = miniature.fault("rope")
    clean = PatchedTree(tree, dict(patched(tree, fault)))
    shown = Evidence(
        source="vllm",
        path="vllm/model.py",
        line=1,
        end_line=1,
        quote="layer.attn.rotary_emb.is_neox_style = False",
    )
    seen = replace(fault, findings=tuple(replace(finding, evidence=(shown,)) for finding in fault.findings))
    found = repair(Program(clean), seen)
    assert isinstance(found, CannotRepair)
    assert "larger max_position_embeddings" in found.instead


def test_a_branch_that_decides_more_than_the_layout_is_left_alone() -> None:
    more = PROPOSER.replace(
        "        super().load_model(target_model)",
        "        else:\n            self.mask = 1\n        super().load_model(target_model)",
    )
    reason = refusal(miniature.tree(dflash=more), miniature.fault("rope"))
    assert reason.endswith("decides more than the draft's layout")
