"""How SGLang starts an MTP drafter, on a miniature of the code that does it."""

import pytest

from investigator.checkpoint import Checkpoint
from investigator.code.program import Program
from investigator.engines.sglang.engine import SglangEngine
from investigator.engines.sglang.world import Session, World
from investigator.model import Known, NotKnown, Outcome, Refused, Unsupported
from tests.code.trees import MemoryTree
from tests.support.mtp import ASSISTANT, DEEPSEEK, GLM, QWEN, drafter, own

MODEL_CONFIG = """
class ModelConfig:
    def _config_draft(self):
        if self.is_draft_model and self.hf_config.architectures[0] == "DeepseekV3ForCausalLM":
            self.hf_config.architectures[0] = "DeepNextN"
        if self.is_draft_model and self.hf_config.architectures[0] == "Qwen3_5ForConditionalGeneration":
            self.hf_config.architectures[0] = "DeepNextN"
            self.hf_config.num_nextn_predict_layers = 1
"""
HOOK = """
def algorithm_of(speculative_algorithm, speculative_draft_model_path, trust=False):
    from sglang.srt.utils import get_config

    config = get_config(speculative_draft_model_path)
    if speculative_algorithm == "NEXTN":
        return "FROZEN" if "Gemma4AssistantForCausalLM" in config.architectures else "EAGLE"
    return speculative_algorithm
"""
INLINE = """
class ServerArgs:
    def check(self):
        if self.speculative_algorithm == "NEXTN":
            self.speculative_algorithm = "EAGLE"
"""
SPEC_INFO = """
from enum import Enum, auto


class SpeculativeAlgorithm(Enum):
    EAGLE = auto()
    FROZEN = auto()

    @classmethod
    def from_string(cls, name):
        return cls[name]

    def is_eagle(self):
        return self == SpeculativeAlgorithm.EAGLE

    def create_worker(self, server_args):
        from sglang.srt.speculative.worker import Worker, WorkerOfMany

        if server_args.several_layers:
            return WorkerOfMany
        return Worker
"""
WORKER = """
from other import other


class DraftWorker:
    def __init__(self, server_args, target_worker):
        self.server_args = server_args
        self.target_worker = target_worker
        self.kept_rows = None
        self.init_head()

    def init_head(self):
        embed, head = self.target_worker.model_runner.model.get_embed_and_head()
        if self.server_args.token_map is not None:
            head = head.clone()
        self.draft_runner.model.set_embed_and_head(embed, head)


class Worker:
    def __init__(self, server_args, target_worker):
        self.worker = DraftWorker(server_args, target_worker)


class WorkerOfMany:
    def __init__(self, server_args, target_worker):
        for number in range(server_args.steps):
            embed, head = target_worker.model_runner.model.get_embed_and_head()
            self.draft_runner_list[number].model.set_embed_and_head(embed, head)
"""
SCHEDULER = """
class Scheduler:
    def init_cache(self):
        return Params(is_eagle=self.spec_algorithm.is_eagle())
"""
NEXTN = """
class DeepNextN(object):
    def __init__(self, config, quant_config=None, prefix=""):
        self.config = config
        self.lm_head = Head(config.vocab_size)

    def forward(self, ids, states):
        return self.logits_processor(ids, states, self.lm_head)

    def set_embed_and_head(self, embed, head):
        del self.lm_head.weight
        self.lm_head.weight = head


class Head:
    def __init__(self, rows):
        self.rows = rows
        self.weight = [rows]


EntryClass = [DeepNextN]
"""
FILES = {
    "sglang/__init__.py": "",
    "sglang/srt/__init__.py": "",
    "sglang/srt/configs/__init__.py": "",
    "sglang/srt/configs/model_config.py": MODEL_CONFIG,
    "sglang/srt/arg_groups/speculative_hook.py": HOOK,
    "sglang/srt/speculative/spec_info.py": SPEC_INFO,
    "sglang/srt/speculative/worker.py": WORKER,
    "sglang/srt/managers/scheduler.py": SCHEDULER,
    "sglang/srt/models/deep_nextn.py": NEXTN,
    "sglang/srt/utils.py": "def get_config(path):\n    raise OSError(path)\n",
}


def program(changed: dict[str, str]) -> Program:
    return Program(MemoryTree({path: text.encode() for path, text in {**FILES, **changed}.items()}))


def session(checkpoint: Checkpoint, changed: dict[str, str] | None = None) -> Session:
    return World(program(changed or {}), checkpoint).start()


def outcome(contract: str, checkpoint: Checkpoint, changed: dict[str, str] | None = None) -> Outcome:
    return SglangEngine(program(changed or {}), checkpoint).ask(contract, None).outcome


def test_the_drafters_config_is_the_targets_as_the_release_rewrites_it() -> None:
    started = session(own(DEEPSEEK))

    assert started.told is None
    assert started.draft_architectures == ["DeepNextN"]
    assert started.target_config.attributes["architectures"] == ["DeepseekV3ForCausalLM"]


def test_a_release_that_does_not_know_the_model() -> None:
    assert outcome("rope", own(GLM)) == Unsupported(
        "no config of architecture Glm4MoeForCausalLM is rewritten to an MTP drafter's here"
    )


def test_a_release_whose_registry_lacks_the_class() -> None:
    found = outcome("rope", own(DEEPSEEK), {"sglang/srt/models/deep_nextn.py": ""})

    assert found == Unsupported("the registry has no draft model DeepNextN")


@pytest.mark.parametrize(
    ("checkpoint", "algorithm"), [(own(DEEPSEEK), "EAGLE"), (drafter(ASSISTANT), "FROZEN")]
)
def test_what_the_algorithms_name_stands_for_beside_a_drafter(checkpoint: Checkpoint, algorithm: str) -> None:
    assert session(checkpoint).algorithm_name == algorithm


def test_a_name_that_is_replaced_in_passing() -> None:
    files = {"sglang/srt/arg_groups/speculative_hook.py": "", "sglang/srt/server_args.py": INLINE}

    assert session(own(DEEPSEEK), files).algorithm_name == "EAGLE"


def test_a_name_that_nothing_replaces() -> None:
    found = outcome("cache-drop", own(DEEPSEEK), {"sglang/srt/arg_groups/speculative_hook.py": ""})

    assert isinstance(found, NotKnown)


def test_an_error_of_the_release_is_its_word() -> None:
    refusing = MODEL_CONFIG.replace(
        'self.hf_config.architectures[0] = "DeepNextN"', 'raise ValueError("not this one")', 1
    )

    found = outcome("rope", own(DEEPSEEK), {"sglang/srt/configs/model_config.py": refusing})
    assert found == Refused("ValueError: not this one")


def test_the_radix_cache_compares_pairs_for_it() -> None:
    found = outcome("cache-drop", own(DEEPSEEK))

    assert found == Known({"dropped": ["radix cache"], "hashed ahead": 0})


def test_the_cache_of_a_target_with_a_state_is_another_one() -> None:
    found = outcome("cache-drop", own(QWEN))

    assert isinstance(found, NotKnown)
    assert "recurrent layers" in found.reason


# -- whose head ------------------------------------------------------------------------


def test_the_worker_hands_the_targets_head_over() -> None:
    told = SglangEngine(program({}), own(DEEPSEEK)).ask("head-sharing", None)

    assert told.outcome == Known("target")
    shown = {(step.place.path.rpartition("/")[2], step.role) for step in told.steps}
    assert shown == {
        ("worker.py", "the worker hands the target's embeddings and head to the draft model"),
        ("deep_nextn.py", "the draft model takes the target's head for its own"),
    }


def test_a_draft_model_that_keeps_its_own_head() -> None:
    keeping = NEXTN.replace("self.lm_head.weight = head", "del head").replace(
        "        del self.lm_head.weight\n", ""
    )

    assert outcome("head-sharing", own(DEEPSEEK), {"sglang/srt/models/deep_nextn.py": keeping}) == Known(
        "draft"
    )


def test_a_draft_model_that_takes_the_head_itself() -> None:
    sharing = NEXTN.replace("self.lm_head.weight = head", "self.lm_head = head")

    assert outcome("head-sharing", own(DEEPSEEK), {"sglang/srt/models/deep_nextn.py": sharing}) == Known(
        "target"
    )


@pytest.mark.parametrize(
    ("path", "before", "after", "why"),
    [
        (
            "sglang/srt/models/deep_nextn.py",
            "states, self.lm_head)",
            "states, self.other_head)",
            "which head DeepNextN computes its logits with",
        ),
        (
            "sglang/srt/speculative/worker.py",
            "self.draft_runner.model.set_embed_and_head(embed, head)",
            "pass",
            "0 places were seen where a worker hands over a head",
        ),
        (
            "sglang/srt/models/deep_nextn.py",
            "self.lm_head = Head(config.vocab_size)",
            "from other import Head; self.lm_head = Head(config)[0]",
            "the draft model's head: other.Head is outside the tree",
        ),
        (
            "sglang/srt/speculative/worker.py",
            "head = head.clone()",
            "head = other(head)",
            "the draft model's head: assigned under an undecided condition",
        ),
    ],
)
def test_what_is_not_seen_of_it_is_unknown(path: str, before: str, after: str, why: str) -> None:
    found = outcome("head-sharing", own(DEEPSEEK), {path: FILES[path].replace(before, after)})

    assert isinstance(found, NotKnown)
    assert found.reason.startswith(why)
