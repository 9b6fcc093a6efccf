"""In-block causality, followed from the worker to the metadata of the draft pass."""

import pytest

from investigator.engines.vllm.causality import AHEAD_NOTE, ASSUMED, KERNEL_NOTE, per_layer
from investigator.model import Known, NotKnown, Refused, Runner
from tests.support.miniature_vllm import DRAFT_MODEL, RUNNERS, all_full, checkpoint, world

V1_BASE = """\
class Proposer:
    def __init__(self, vllm_config):
        self.vllm_config = vllm_config
        self.draft_model_config = vllm_config.speculative_config.draft_model_config

    @property
    def dflash_config(self):
        return getattr(self.draft_model_config.hf_config, "dflash_config", None) or {}

    def propose(self, tokens, metadata):
        hidden = self.model.combine(tokens)
        count, indices, metadata = (
            self.prepare_first_pass(tokens, metadata)
        )
        layers = self.layer_metadata(metadata)
        return self.model(hidden)
"""
V1 = """\
from vllm.v1.attention.backend import CommonAttentionMetadata
from vllm.v1.spec_decode.base import Proposer


class BlockProposer(Proposer):
    def __init__(self, vllm_config, runner):
        super().__init__(vllm_config)
{init}

    def prepare_first_pass(self, tokens, metadata):
        queries = metadata.num_reqs * 4
        made = CommonAttentionMetadata(
            num_reqs=metadata.num_reqs,
            seq_lens=metadata.seq_lens + queries,
{causal}
        )
        return queries, tokens.index(queries), made
"""
BACKEND = """\
from dataclasses import dataclass


@dataclass
class CommonAttentionMetadata:
    num_reqs: int
    seq_lens: object
    causal: bool = True
"""
V2 = """\
from vllm.v1.attention.backend import CommonAttentionMetadata


def build_metadata(attn_groups, block_tables, kv_cache_config, causal=True):
    built = {{}}
    for i in range(len(kv_cache_config.kv_cache_groups)):
        if not attn_groups[i]:
            continue
        own = causal if isinstance(causal, bool) else causal.get(i, True)
        common = CommonAttentionMetadata(block_table_tensor=block_tables[i], causal=own)
        for group in attn_groups[i]:
            built[group.name] = group.build(common)
    return built


def init_attn_backend(kv_cache_config):
    raise NotImplementedError


class Speculator:
    def __init__(self, vllm_config):
        self.draft_model_config = vllm_config.speculative_config.draft_model_config

    def set_attn(self, kv_cache_config, block_tables):
        self.kv_cache_config = kv_cache_config
        self.attn_groups, _, _ = init_attn_backend(kv_cache_config)
        self.block_tables = block_tables

    def draft_metadata(self, count, causal=True):
        tables = [table[:count] for table in self.block_tables.input_block_tables]
        return build_metadata(self.attn_groups, tables, self.kv_cache_config, causal=causal)


class BlockSpeculator(Speculator):
    def __init__(self, vllm_config):
        super().__init__(vllm_config)
        config = self.draft_model_config.hf_config.dflash_config
        self.is_causal = config.get("causal", False)

{groups}
    def propose(self, batch):
        metadata = self.draft_metadata(batch.count, causal={causal})
        return self.model(batch)
"""
PER_GROUP = """\
    def set_attn(self, kv_cache_config, block_tables):
        super().set_attn(kv_cache_config, block_tables)
        self.by_group = self.is_causal
        if hasattr(self.model, "get_draft_attn_causal"):
            names = self.model.get_draft_kv_cache_layer_names()
            all_groups = kv_cache_config.kv_cache_groups
            groups = {name: i for i, group in enumerate(all_groups) for name in group.layer_names}
            self.by_group = {
                groups[name]: flag for name, flag in zip(names, self.model.get_draft_attn_causal())
            }
"""
SLIDING_ONLY = [True, True, False]
"""Nothing says causal, and yet the two sliding layers are: their window reaches backwards only."""
ALL_FULL_DRAFT = {
    path: text.replace('config.layer_types[i] == "sliding_attention"', "False")
    for path, text in DRAFT_MODEL.items()
}


def first_runner(init: str, causal: str) -> dict[str, str]:
    indented = "\n".join(f"        {line}" for line in init.splitlines())
    return {
        **RUNNERS,
        **DRAFT_MODEL,
        "vllm/v1/attention/backend.py": BACKEND,
        "vllm/v1/spec_decode/base.py": V1_BASE,
        "vllm/v1/spec_decode/block.py": V1.format(
            init=indented or "        pass", causal=f"            {causal}"
        ),
    }


def second_runner(causal: str, groups: str = "") -> dict[str, str]:
    return {
        **RUNNERS,
        **DRAFT_MODEL,
        "vllm/v1/attention/backend.py": BACKEND,
        "vllm/v1/worker/gpu/spec_decode/block.py": V2.format(causal=causal, groups=groups),
    }


FROM_PROPERTY = 'self.is_causal = self.dflash_config.get("causal", False)'
FROM_MODEL = """\
from vllm.model_executor.models.mini_draft import some_layer_is_not_causal

self.is_causal = not some_layer_is_not_causal(self.draft_model_config.hf_config)"""


@pytest.mark.parametrize(
    ("init", "causal", "flags"),
    [
        ("", "causal=False,", SLIDING_ONLY),
        (FROM_PROPERTY, "causal=self.is_causal,", SLIDING_ONLY),
        (FROM_MODEL, "causal=self.is_causal,", SLIDING_ONLY),
        ("", "", [True, True, True]),
        ("self.is_causal = True", "causal=not self.is_causal,", SLIDING_ONLY),
    ],
    ids=["literal", "key", "helper imported in __init__", "class default", "negated"],
)
def test_one_flag_for_all_layers_on_the_first_runner(init: str, causal: str, flags: list[bool]) -> None:
    assert per_layer(world(first_runner(init, causal)), Runner.V1).outcome == Known(flags)


def test_without_a_window_the_flag_alone_decides() -> None:
    files = first_runner("", "causal=False,")

    assert per_layer(world(files, all_full()), Runner.V1).outcome == Known([False, False, False])


def test_the_checkpoints_own_key_reaches_the_first_runner() -> None:
    case = checkpoint(dflash_config={"mask_token_id": 9, "target_layer_ids": [1, 3], "causal": True})

    found = per_layer(world(first_runner(FROM_PROPERTY, "causal=self.is_causal,"), case), Runner.V1)

    assert found.outcome == Known([True, True, True])
    assert "reads draft config.dflash_config.causal" in [step.role for step in found.steps]


@pytest.mark.parametrize(
    ("causal", "groups", "flags"),
    [
        ("self.is_causal", "", SLIDING_ONLY),
        ("True", "", [True, True, True]),
        # Two sliding layers share one KV-cache group, the full one has its own.
        ("self.by_group", PER_GROUP, [True, True, False]),
    ],
    ids=["one flag", "literal", "by group"],
)
def test_flags_by_kv_cache_group_on_the_second_runner(causal: str, groups: str, flags: list[bool]) -> None:
    assert per_layer(world(second_runner(causal, groups)), Runner.V2).outcome == Known(flags)


def test_a_window_beside_a_non_causal_flag_brings_the_kernels_caveat() -> None:
    assert per_layer(world(second_runner("self.is_causal")), Runner.V2).note == KERNEL_NOTE.format(ASSUMED)
    assert per_layer(world(second_runner("self.by_group", PER_GROUP)), Runner.V2).note == ""
    assert per_layer(world(second_runner("self.is_causal"), all_full()), Runner.V2).note == ""


KERNEL = "vllm/v1/attention/backends/flash_attn.py"
WIDENED = """\
        window = list(self.sliding_window)
        causal = attn_metadata.causal
        if window[1] == 0 and (isinstance(causal, Tensor) or causal is False):
            window = [window[0], window[0]]
"""
BY_A_HELPER = """\
        window = widened(self.sliding_window, attn_metadata.causal)
"""
HELPER = """

def widened(window, causal):
    return (window[0], window[0]) if window[0] >= 0 and window[1] == 0 and causal is False else window
"""
IN_THE_METADATA = """\
        window = attn_metadata.window if attn_metadata.window is not None else self.sliding_window
"""
BUILDER = """


class FlashAttentionMetadata:
    causal: bool = True
    window: tuple | None = None


class FlashAttentionMetadataBuilder:
    def build(self, common_attn_metadata: "CommonAttentionMetadata"):
        own = getattr(self.kv_cache_spec, "sliding_window", None)
        base = (-1, -1) if own is None else (own - 1, 0)
        return FlashAttentionMetadata(
            causal=common_attn_metadata.causal, window=widened(base, common_attn_metadata.causal)
        )
"""
MARKED = WIDENED.replace("causal is False):", 'causal is False) and not getattr(layer, "ends_here", False):')


def with_kernel(files: dict[str, str], handed: str, more: str = "") -> dict[str, str]:
    before = "        window = list(self.sliding_window)\n"
    assert before in files[KERNEL]
    return {**files, KERNEL: files[KERNEL].replace(before, handed) + more}


@pytest.mark.parametrize(
    ("handed", "more"),
    [(WIDENED, ""), (BY_A_HELPER, HELPER), (IN_THE_METADATA, HELPER + BUILDER)],
    ids=["in place", "by a helper", "while the metadata are built"],
)
@pytest.mark.parametrize("runner", list(Runner))
def test_a_window_that_is_widened_keeps_nobody_from_the_block(runner: Runner, handed: str, more: str) -> None:
    """As FlashAttention does from vLLM 0.24 on, where the metadata say that the pass is not causal."""
    files = first_runner("", "causal=False,") if runner is Runner.V1 else second_runner("self.is_causal")

    found = per_layer(world(with_kernel(files, handed, more)), runner)

    assert found.outcome == Known([False, False, False])
    assert found.note == AHEAD_NOTE.format(ASSUMED)
    assert found.steps[-1].role == "the kernel is handed the layer's window"


def test_a_causal_pass_widens_no_window() -> None:
    found = per_layer(world(with_kernel(second_runner("self.by_group", PER_GROUP), WIDENED)), Runner.V2)

    assert found.outcome == Known([True, True, False])


def test_a_layer_that_the_kernel_knows_by_a_mark_keeps_its_window() -> None:
    files = with_kernel(second_runner("self.is_causal"), MARKED)
    path = "vllm/model_executor/models/mini_draft.py"
    made = "        self.causal = layer_is_causal(config, i)\n"
    files[path] = files[path].replace(
        made, f"{made}        if i == 1:\n            self.attn.ends_here = True\n"
    )

    assert per_layer(world(files), Runner.V2).outcome == Known([False, True, False])


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("class FlashAttentionImpl", "class OtherImpl", "no FlashAttentionImpl.forward was found"),
        ("window_size=window", "window_size=attn_metadata.window", "window"),
    ],
)
def test_a_kernel_that_is_not_understood_leaves_it_unknown(old: str, new: str, reason: str) -> None:
    files = second_runner("self.is_causal")
    files[KERNEL] = files[KERNEL].replace(old, new)

    outcome = per_layer(world(files), Runner.V2).outcome

    assert isinstance(outcome, NotKnown)
    assert reason in outcome.reason


def test_a_window_that_the_planner_does_not_see_makes_no_group_of_its_own() -> None:
    """The window bounds what is read; taken off afterwards, all layers share one KV-cache group."""
    files = second_runner("self.by_group", PER_GROUP)
    path = "vllm/model_executor/models/mini_draft.py"
    made = "        self.causal = layer_is_causal(config, i)\n"
    files[path] = files[path].replace(made, f"{made}        self.attn.sliding_window = None\n")
    files["vllm/v1/worker/gpu/spec_decode/block.py"] = files[
        "vllm/v1/worker/gpu/spec_decode/block.py"
    ].replace(
        "            self.by_group = {\n",
        "            if len(set(groups[name] for name in names)) > 1:\n"
        '                raise ValueError("more than one group")\n'
        "            self.by_group = {\n",
    )

    # The last layer's flag, False, is the group's; the windows keep the other two causal.
    assert per_layer(world(files), Runner.V2).outcome == Known([True, True, False])


def test_a_group_of_its_own_that_nobody_flags_is_causal_by_the_builders_default() -> None:
    only_first = PER_GROUP.replace("in zip(names, self", "in zip(names[:1], self")

    found = per_layer(world(second_runner("self.by_group", only_first)), Runner.V2)

    assert found.outcome == Known([True, True, True])


def test_a_draft_model_that_refuses_to_be_built_is_refused() -> None:
    files = second_runner("True")
    path = "vllm/model_executor/models/mini_draft.py"
    files[path] = files[path].replace(
        "        window = ",
        '        if sliding:\n            raise ValueError("no windows")\n        window = ',
    )

    assert per_layer(world(files), Runner.V2).outcome == Refused("ValueError: no windows")


def test_a_flag_that_nothing_decides_is_not_known() -> None:
    outcome = per_layer(world(first_runner("", "causal=metadata.causal,")), Runner.V1).outcome

    assert isinstance(outcome, NotKnown)
    assert outcome.reason.startswith("whether the draft pass is causal")


def test_the_steps_end_where_the_metadata_are_made() -> None:
    files = first_runner("", "causal=False,")
    lines = files["vllm/v1/spec_decode/block.py"].splitlines()

    last = per_layer(world(files), Runner.V1).steps[-1]

    assert lines[last.place.line - 1].strip() == "causal=False,"


# -- the same, written otherwise ---------------------------------------------------------

ASKING = """        count, indices, metadata = (
            self.prepare_first_pass(tokens, metadata)
        )
"""


@pytest.mark.parametrize(
    "asking",
    [
        "        made = getattr(self, 'prepare_first_pass')(tokens, metadata)\n",
        "        this = self\n        made = this.prepare_first_pass(tokens, metadata)\n",
        "        if (made := self.prepare_first_pass(tokens, metadata)) is None:\n            return None\n",
        "        return rest(self, tokens, metadata)\n\n\ndef rest(proposer, tokens, metadata):\n"
        "        made = proposer.prepare_first_pass(tokens, metadata)\n",
        "        return self.rest(tokens, metadata)\n\n    def rest(self, tokens, metadata):\n"
        "        made = self.prepare_first_pass(tokens, metadata)\n",
    ],
)
def test_however_the_draft_pass_asks_for_its_metadata(asking: str) -> None:
    files = first_runner("", "causal=True,")
    shorter = V1_BASE.partition("        layers = ")[0]
    files["vllm/v1/spec_decode/base.py"] = shorter.replace(ASKING, asking)

    assert ASKING not in files["vllm/v1/spec_decode/base.py"]
    assert per_layer(world(files), Runner.V1).outcome == Known([True, True, True])
