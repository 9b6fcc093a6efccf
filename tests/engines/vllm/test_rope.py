"""How the draft layers rotate, followed through the loading of the draft model."""

import pytest

from investigator.checkpoint import Checkpoint
from investigator.checkpoints import model_config, read_checkpoint
from investigator.engines.vllm.rope import rotation
from investigator.model import Json, Known, NotKnown, Runner
from tests.support.miniature_vllm import DRAFT_MODEL, RUNNERS, TARGET, TARGET_MODEL, checkpoint, world

DRAFT_PATH = "vllm/model_executor/models/mini_draft.py"
TARGET_PATH = "vllm/model_executor/models/mini_target.py"
LOADER = "def get_model(vllm_config):\n    return make(vllm_config)\n"
DRAFTER = """\
from vllm.model_executor.model_loader import get_model


def layout_of(target_model):
    language_model = (
        target_model.get_language_model() if hasattr(target_model, "get_language_model") else target_model
    )
    for module in language_model.modules():
        style = getattr(module, "is_neox_style", None)
        if isinstance(style, bool):
            return style
    return None


class {name}:
    def __init__(self, vllm_config, runner=None):
        self.vllm_config = vllm_config
        self.config = vllm_config.speculative_config.draft_model_config.hf_config

    def propose(self, batch):
        return self.model(batch)

    def load_model(self, target_model):
{before}
        self.model = get_model(vllm_config=self.vllm_config)
"""
LEFT_ALONE = "        style = None"
OVERWRITTEN = """\
        style = layout_of(target_model)
        if style is not None:
            self.config.is_neox_style = style"""
MADE_PLAIN = "get_rope(8, 1024, rope_parameters=config.rope_parameters)"
FROM_CONFIG = """get_rope(
            8, 1024,
            is_neox_style=getattr(config, "is_neox_style", True), rope_parameters=config.rope_parameters,
        )"""
BY_POSITION = "get_rope(8, 1024, False, config.rope_parameters)"
MADE_BY_TARGET = "get_rope(8, 1024)"
IN_PAIRS = "get_rope(8, 1024, is_neox_style=False)"


def engine(made: str, before: str = LEFT_ALONE, target: str = MADE_BY_TARGET) -> dict[str, str]:
    files = {
        **RUNNERS,
        **DRAFT_MODEL,
        **TARGET_MODEL,
        "vllm/model_executor/model_loader.py": LOADER,
        "vllm/v1/spec_decode/block.py": DRAFTER.format(name="BlockProposer", before=before),
        "vllm/v1/worker/gpu/spec_decode/block.py": DRAFTER.format(name="BlockSpeculator", before=before),
    }
    files[DRAFT_PATH] = files[DRAFT_PATH].replace(MADE_PLAIN, made)
    files[TARGET_PATH] = files[TARGET_PATH].replace(MADE_BY_TARGET, target)
    return files


def rotates(layout: str | None, whose: str = "draft", theta: Json = 10000) -> Known:
    return Known({"layout": layout, "theta": theta, "from": whose})


@pytest.mark.parametrize("runner", list(Runner))
@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (engine(MADE_PLAIN), rotates("halves")),
        (engine(FROM_CONFIG), rotates("halves")),
        (engine(BY_POSITION), rotates("pairs")),
        (engine(FROM_CONFIG, OVERWRITTEN), rotates("halves", "target")),
        (engine(FROM_CONFIG, OVERWRITTEN, IN_PAIRS), rotates("pairs", "target")),
        # Written over, and never read.
        (engine(MADE_PLAIN, OVERWRITTEN, IN_PAIRS), rotates("halves")),
    ],
    ids=["default", "key", "by position", "overwritten", "overwritten with pairs", "overwritten, unread"],
)
def test_the_draft_layers_layout(files: dict[str, str], expected: Known, runner: Runner) -> None:
    assert rotation(world(files), runner).outcome == expected


def test_a_wrapped_targets_layout_is_its_language_models() -> None:
    found = rotation(world(engine(FROM_CONFIG, OVERWRITTEN, IN_PAIRS), checkpoint("MiniPictures")), Runner.V2)

    assert found.outcome == rotates("pairs", "target")


FIXED_ROPE = """\
        self.rotary_emb = self.turned(config)

    def turned(self, config):
        return get_rope(8, 1024, is_neox_style=False)"""
OWN_METHOD = """\
        self.make_rope(config)

    def make_rope(self, config, pairs=True):
        style = not pairs
        self.rotary_emb = get_rope(8, 1024, is_neox_style=style)"""
WRITTEN_LATER = """\
        self.lm_head = Head(config)
        for layer in self.model.layers:
            layer.self_attn.rotary_emb.is_neox_style = False"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"        self.rotary_emb = {MADE_BY_TARGET}", FIXED_ROPE),
        (f"        self.rotary_emb = {MADE_BY_TARGET}", OWN_METHOD),
        ("        self.lm_head = Head(config)", WRITTEN_LATER),
    ],
    ids=["returned by a method", "set by a method", "written over later"],
)
def test_where_a_target_says_that_it_rotates_pairs(before: str, after: str) -> None:
    files = engine(FROM_CONFIG, OVERWRITTEN)
    files[TARGET_PATH] = files[TARGET_PATH].replace(before, after)

    assert rotation(world(files), Runner.V2).outcome == rotates("pairs", "target")


def test_a_target_whose_layout_is_not_seen_leaves_it_open() -> None:
    files = engine(FROM_CONFIG, OVERWRITTEN, "get_rope(8, 1024, config.rotates_so)")

    assert rotation(world(files), Runner.V2).outcome == rotates(None, "target")


@pytest.mark.parametrize(
    ("case", "theta"),
    [
        (checkpoint(rope_theta=5000), 5000),
        (checkpoint(rope_theta=None, rope_parameters={"rope_type": "default", "rope_theta": 7000}), 7000),
    ],
    ids=["flat", "nested"],
)
def test_the_base_comes_from_either_layout_of_the_config(case: Checkpoint, theta: int) -> None:
    assert rotation(world(engine(MADE_PLAIN), case), Runner.V2).outcome == rotates("halves", theta=theta)


def test_a_key_that_the_targets_config_leaves_to_its_class_hides_no_layout() -> None:
    asked = "get_rope(8, 1024, is_neox_style=False, rope_parameters=config.named_by_the_class)"
    files = engine(FROM_CONFIG, OVERWRITTEN, asked)

    assert rotation(world(files), Runner.V2).outcome == rotates("pairs", "target")


def test_the_checkpoints_own_layout_is_kept_where_nobody_overwrites_it() -> None:
    case = checkpoint(is_neox_style=False)

    assert rotation(world(engine(FROM_CONFIG), case), Runner.V2).outcome == rotates("pairs")
    assert rotation(world(engine(FROM_CONFIG, OVERWRITTEN), case), Runner.V2).outcome == rotates(
        "halves", "target"
    )


def test_a_layout_that_nothing_decides_is_not_known() -> None:
    made = "get_rope(8, 1024, is_neox_style=prefix.says, rope_parameters=config.rope_parameters)"

    assert isinstance(rotation(world(engine(made)), Runner.V2).outcome, NotKnown)


def test_the_steps_show_who_writes_over_the_layout() -> None:
    files = engine(FROM_CONFIG, OVERWRITTEN)

    first = rotation(world(files), Runner.V2).steps[0]

    line = files[first.place.path].splitlines()[first.place.line - 1]
    assert line.strip() == "self.config.is_neox_style = style"


KEPT = """\
_MADE = {}


def get_rope(head_size, max_position, is_neox_style=True, rope_parameters=None):
    key = (head_size, max_position, is_neox_style)
    if key in _MADE:
        return _MADE[key]
    raise NotImplementedError
"""
ROPES = "vllm/model_executor/layers/rotary_embedding/__init__.py"
OF_BOTH = "get_rope(8, 1024, rope_parameters=config.rope_parameters)"
WITH_A_SHARE = """\
        config.rope_parameters["partial_rotary_factor"] = 0.5
        self.lm_head = Head(config)"""
SAME: dict[str, Json] = {"rope_theta": 10000, "rope_type": "default"}


def beside(made_by_target: str, *, keeps: bool = True, written: str = WRITTEN_LATER) -> dict[str, str]:
    """An engine whose target asks for its rotary embeddings so, and writes over their layout later."""
    files = engine(MADE_PLAIN, target=made_by_target)
    files[TARGET_PATH] = files[TARGET_PATH].replace("        self.lm_head = Head(config)", written)
    return {**files, ROPES: KEPT} if keeps else files


def pair(rope: dict[str, Json]) -> Checkpoint:
    """A drafter with these settings beside a target that has ``SAME``."""
    target = {**TARGET, "rope_parameters": SAME}
    return read_checkpoint(
        checkpoint(rope_theta=None, rope_parameters=rope).draft,
        model_config(target, repo="mini/target", revision="1", source="target", complete=True),
    )


@pytest.mark.parametrize(
    ("files", "case", "expected"),
    [
        (beside(OF_BOTH), pair(SAME), rotates("pairs", "shared")),
        (beside(OF_BOTH, keeps=False), pair(SAME), rotates("halves")),
        (beside(OF_BOTH.replace("1024", "2048")), pair(SAME), rotates("halves")),
        (beside(OF_BOTH), pair({**SAME, "rope_theta": 5000}), rotates("halves", theta=5000)),
        (beside(OF_BOTH, written="        self.lm_head = Head(config)"), pair(SAME), rotates("halves")),
        (beside(OF_BOTH, written=f"{WITH_A_SHARE}\n{WRITTEN_LATER}"), pair(SAME), rotates("halves")),
    ],
    ids=["kept", "made anew", "another length", "another base", "nothing written", "half of it, set first"],
)
def test_a_kept_rotary_embedding_is_the_targets_too(
    files: dict[str, str], case: Checkpoint, expected: Known
) -> None:
    """Measured on vLLM 0.33.0 beside Ernie 4.5: 1.06 with the same settings, 2.77 with another length."""
    assert rotation(world(files, case), Runner.V2).outcome == expected


def test_settings_in_another_order_may_or_may_not_be_the_same() -> None:
    other: dict[str, Json] = {"rope_type": "default", "rope_theta": 10000}

    assert isinstance(rotation(world(beside(OF_BOTH), pair(other)), Runner.V2).outcome, NotKnown)


def test_the_steps_show_how_the_draft_layers_come_to_the_targets_embedding() -> None:
    files = beside(OF_BOTH)

    steps = rotation(world(files, pair(SAME)), Runner.V2).steps

    shown = [files[step.place.path].splitlines()[step.place.line - 1].strip() for step in steps]
    assert shown == [
        "layer.self_attn.rotary_emb.is_neox_style = False",
        "return _MADE[key]",
        f"self.rotary_emb = {MADE_PLAIN}",
    ]
