"""Whose head a loaded draft model has, followed through the drafter's ``load_model``."""

from dataclasses import replace

import pytest

from investigator.checkpoint import Checkpoint
from investigator.engines.vllm.head_sharing import head
from investigator.model import Known, NotKnown, Runner
from tests.support.miniature_vllm import DRAFT_MODEL, RUNNERS, TARGET_MODEL, checkpoint, world

LOADER = "def get_model(vllm_config):\n    return make(vllm_config)\n"
V1 = """\
from vllm.model_executor.model_loader import get_model


def supports_multimodal(model):
    return getattr(model, "supports_multimodal", False)


class BlockProposer:
    def __init__(self, vllm_config, runner):
        self.vllm_config = vllm_config

    def propose(self, batch):
        return self.model(batch)

    def load_model(self, target_model):
        self.model = get_model(vllm_config=self.vllm_config)
        if supports_multimodal(target_model):
            target_language_model = target_model.get_language_model()
        else:
            target_language_model = target_model
        self.share(target_language_model)

    def share(self, target_language_model):
        share = False
        if hasattr(self.model, "has_own_lm_head"):
            if not self.model.has_own_lm_head:
                share = True
        else:
            share = True
        if share and hasattr(target_language_model, "lm_head"):
            if hasattr(self.model, "lm_head"):
                del self.model.lm_head
            self.model.lm_head = target_language_model.lm_head
"""
V2 = """\
from vllm.config import replace
from vllm.model_executor.model_loader import get_model


def should_share(draft, flag):
    return not getattr(draft, flag, False)


class BlockSpeculator:
    def __init__(self, vllm_config):
        self.vllm_config = vllm_config

    def propose(self, batch):
        return self.model(batch)

    def load_model(self, target_model):
        self.model = load(target_model, self.vllm_config)


def load(target_model, vllm_config):
    draft = get_model(vllm_config=replace(vllm_config, quant_config=None))
    language_model = (
        target_model.get_language_model() if hasattr(target_model, "get_language_model") else target_model
    )
    theirs = {lookup}
    ours = getattr(draft, "lm_head", None)
    if theirs is not None and {condition}:
        if ours is not None:
            del draft.lm_head
        draft.lm_head = theirs
    return draft
"""
OUTER = 'getattr(target_model, "lm_head", None)'
INNER = 'getattr(language_model, "lm_head", None) or getattr(target_model, "lm_head", None)'
NO_MAP = 'getattr(draft, "draft_id_to_target_id", None) is None'
NO_OWN = 'should_share(draft, "has_own_lm_head")'


def engine(lookup: str = INNER, condition: str = NO_OWN) -> dict[str, str]:
    return {
        **RUNNERS,
        **DRAFT_MODEL,
        **TARGET_MODEL,
        "vllm/config/__init__.py": "def replace(config, **changes):\n    raise NotImplementedError\n",
        "vllm/model_executor/model_loader.py": LOADER,
        "vllm/v1/spec_decode/block.py": V1,
        "vllm/v1/worker/gpu/spec_decode/block.py": V2.format(lookup=lookup, condition=condition),
    }


WRAPPED = checkpoint("MiniPictures")


@pytest.mark.parametrize("case", [checkpoint(), WRAPPED], ids=["text", "wrapped"])
def test_the_first_runner_shares_the_language_models_head(case: Checkpoint) -> None:
    assert head(world(engine(), case), Runner.V1).outcome == Known("target")


@pytest.mark.parametrize(
    ("lookup", "condition", "case", "owner"),
    [
        (OUTER, NO_MAP, checkpoint(), "target"),
        # The wrapper has no head: it is on its language model.
        (OUTER, NO_MAP, WRAPPED, "draft"),
        (OUTER, NO_OWN, WRAPPED, "draft"),
        (INNER, NO_OWN, WRAPPED, "target"),
        (INNER, NO_MAP, WRAPPED, "target"),
    ],
    ids=["text", "outer", "outer, by flag", "language model's", "language model's, no map"],
)
def test_where_the_second_runner_looks_for_the_head_decides(
    lookup: str, condition: str, case: Checkpoint, owner: str
) -> None:
    assert head(world(engine(lookup, condition), case), Runner.V2).outcome == Known(owner)


def test_a_vocabulary_map_keeps_a_head_that_nobody_loaded() -> None:
    files = engine(INNER, NO_MAP)
    path = "vllm/model_executor/models/mini_draft.py"
    files[path] = files[path].replace("draft_id_to_target_id = None", "draft_id_to_target_id = [0, 1]")

    assert head(world(files), Runner.V2).outcome == Known("draft")


def test_tied_embeddings_of_a_target_that_does_not_say_so_leave_no_doubt() -> None:
    case = checkpoint()
    assert case.target is not None
    config = {key: value for key, value in case.target.raw.items() if key != "tie_word_embeddings"}
    open_target = replace(case.target, raw=config, normalised=config, complete=False)

    found = head(world(engine(OUTER, NO_MAP), replace(case, target=open_target)), Runner.V2)

    assert found.outcome == Known("target")


def test_a_head_of_its_own_stays() -> None:
    case = checkpoint()
    brings = replace(case, draft=replace(case.draft, tensors={"lm_head.weight": (64, 32)}))

    assert head(world(engine(), brings), Runner.V2).outcome == Known("draft")


def test_a_condition_that_nothing_decides_is_not_known() -> None:
    found = head(world(engine(INNER, "draft.is_told_to")), Runner.V2)

    assert isinstance(found.outcome, NotKnown)


def test_the_steps_show_where_the_head_is_looked_for() -> None:
    files = engine(OUTER, NO_MAP)

    steps = head(world(files, WRAPPED), Runner.V2).steps

    lines = files["vllm/v1/worker/gpu/spec_decode/block.py"].splitlines()
    assert [(step.role, lines[step.place.line - 1].strip()) for step in steps] == [
        ("the target model has no head", f"theirs = {OUTER}"),
        ("the draft model is asked for its head", 'ours = getattr(draft, "lm_head", None)'),
    ]


# -- the same, written otherwise ---------------------------------------------------------

RUNNER = "vllm/v1/worker/gpu_model_runner.py"
PICTURES = "vllm/model_executor/models/mini_target.py"
MARKED = """        with self._mark_language_model(vllm_config):
            self.language_model = MiniTargetForCausalLM(vllm_config=vllm_config, prefix="language_model")
"""


@pytest.mark.parametrize(
    "proposing",
    [
        "        return getattr(self, 'drafter').propose(batch)",
        "        return getattr(self.drafter, 'propose')(batch)",
        "        this = self\n        return this.drafter.propose(batch)",
        "        self.rest(batch)\n\n    def rest(self, batch):\n        self.drafter.propose(batch)",
        "        rest(self, batch)\n\n\ndef rest(runner, batch):\n    runner.drafter.propose(batch)",
    ],
)
def test_whatever_the_runner_proposes_with(proposing: str) -> None:
    files = engine()
    before = files[RUNNER]
    files[RUNNER] = before.replace("        return self.drafter.propose(batch)", proposing)

    assert files[RUNNER] != before
    assert head(world(files), Runner.V1).outcome == Known("target")


def test_a_language_model_that_is_marked_further_down() -> None:
    files = engine()
    before = files[PICTURES]
    rest = f"        self.rest(vllm_config)\n\n    def rest(self, vllm_config):\n{MARKED}"
    files[PICTURES] = before.replace(MARKED, rest)

    assert files[PICTURES] != before
    assert head(world(files, WRAPPED), Runner.V2).outcome == Known("target")
