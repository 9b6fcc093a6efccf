"""A miniature vLLM whose shapes can be switched: one keyword per thing that releases do differently.

``tree(shift="comprehension", drop="property")`` is an engine of some twenty short files under the
names that the real one uses; what each shape comes to has been worked out by hand in the tests that
name it. The pair on it (:mod:`tests.support.miniature_vllm`) taps ids 1 and 3 of six layers and has
three draft layers: two with a window of 8, one that sees everything. Everything is this project's
own writing.
"""

from collections.abc import Mapping
from dataclasses import replace

from investigator.agents.quoting import answer_of
from investigator.checkpoint import Checkpoint
from investigator.code.program import Program
from investigator.contracts.registry import BY_ID
from investigator.engines.interface import Told
from investigator.engines.vllm.engine import VllmEngine
from investigator.model import Answer, Evidence, Finding, Role, Runner
from investigator.references.reading import QUESTIONS, ask
from investigator.sources.text_tree import TextTree
from investigator.synthesizer import synthesize
from tests.support import miniature_vllm as pair
from tests.support.builders import source
from tests.support.mini_reference import REFERENCE

RUNNER_FILE = "vllm/v1/worker/gpu_model_runner.py"
SECOND_RUNNER_FILE = "vllm/v1/worker/gpu/spec_decode/eagle/eagle3_utils.py"
TARGET_FILE = "vllm/model_executor/models/mini_target.py"
DRAFT_FILE = "vllm/model_executor/models/mini_draft.py"
SCHEDULER_FILE = "vllm/v1/core/sched/scheduler.py"
COORDINATOR_FILE = "vllm/v1/core/kv_cache_coordinator.py"
CONFIG_FILE = "vllm/config/vllm.py"
SPECULATIVE_FILE = "vllm/config/speculative.py"
PROPOSER_FILE = "vllm/v1/spec_decode/llm_base_proposer.py"


# -- which layers: config id to layer number -------------------------------------------

SHIFTS: dict[str, str] = {
    # The helper hands the ids on as they are: every tap one layer too early.
    "none": """\
    def _layers_to_tap(self):
        config = self.speculative_config.draft_model_config.hf_config
        asked = getattr(config, "dflash_config", None)
        if asked and "target_layer_ids" in asked:
            return tuple(asked["target_layer_ids"])
        return None
""",
    "inline": """\
    def _layers_to_tap(self):
        config = self.speculative_config.draft_model_config.hf_config
        asked = getattr(config, "dflash_config", None)
        taps = []
        if asked and "target_layer_ids" in asked:
            for number in asked["target_layer_ids"]:
                taps.append(number + 1)
        return tuple(taps)
""",
    "comprehension": """\
    def _layers_to_tap(self):
        config = self.speculative_config.draft_model_config.hf_config
        asked = getattr(config, "dflash_config", {})
        return tuple(1 + number for number in asked.get("target_layer_ids") or [])
""",
    "helper": """\
    def _layers_to_tap(self):
        config = self.speculative_config.draft_model_config.hf_config
        return after_layers(config.dflash_config["target_layer_ids"])
""",
    # The raw key of EAGLE wins where it is set; the other is counted from the layer's output.
    "two-keys": """\
    def _layers_to_tap(self):
        config = self.speculative_config.draft_model_config.hf_config
        raw = getattr(config, "eagle_aux_hidden_state_layer_ids", None)
        if raw:
            return tuple(raw)
        asked = getattr(config, "dflash_config", None) or {}
        return tuple(number + 1 for number in asked.get("target_layer_ids", ()))
""",
    # How far to shift is nobody's to know without running the machine.
    "by-the-clock": """\
    def _layers_to_tap(self):
        config = self.speculative_config.draft_model_config.hf_config
        ids = config.dflash_config["target_layer_ids"]
        return tuple(number + time.localtime().tm_isdst for number in ids)
""",
}
HELPER = """\
def after_layers(ids):
    return tuple(step_past(number) for number in ids)


def step_past(number, layers=1):
    return number + layers
"""
DEFAULTS: dict[str, str] = {
    "quiet": """\
            taps = self._layers_to_tap()
            if not taps:
                taps = self.model.get_eagle3_default_aux_hidden_state_layers()
""",
    "info": """\
            taps = self._layers_to_tap()
            if not taps:
                taps = self.model.get_eagle3_default_aux_hidden_state_layers()
                logger.info("Using layers %s", taps)
""",
    "warning": """\
            taps = self._layers_to_tap()
            if not taps:
                taps = self.model.get_eagle3_default_aux_hidden_state_layers()
                logger.warning_once("No layers are named; guessing %s", taps)
""",
    "refused": """\
            taps = self._layers_to_tap()
            if not taps:
                raise ValueError("the draft config names no layers of the target")
""",
}


def _first_runner(shift: str, guess: str) -> str:
    imports = "from vllm.v1.spec_decode.taps import after_layers\n" if shift == "helper" else ""
    return f"""\
import time

from vllm.logger import init_logger
{imports}
logger = init_logger(__name__)


class GPUModelRunner:
    def __init__(self, vllm_config):
        self.vllm_config = vllm_config
        self.speculative_config = vllm_config.speculative_config

    def load_model(self):
        self.model = make_model(self.vllm_config)
        if self.speculative_config is not None:
{DEFAULTS[guess]}            self.model.set_aux_hidden_state_layers(taps)

{SHIFTS[shift]}"""


def _second_runner(shift: str) -> str:
    changed = {"none": "number", "comprehension": "number + 1"}[shift]
    return f"""\
def tap_target(model, speculative_config):
    taps = taps_of(speculative_config)
    if not taps:
        taps = model.get_eagle3_default_aux_hidden_state_layers()
    model.set_aux_hidden_state_layers(taps)


def taps_of(speculative_config):
    config = speculative_config.draft_model_config.hf_config
    asked = getattr(config, "dflash_config", None) or {{}}
    return tuple({changed} for number in asked.get("target_layer_ids", ()))
"""


# -- which layers: layer number to captured stream -------------------------------------

CAPTURES: dict[str, str] = {
    # Number n: the stream after n layers.
    "before": """\
        captured = []
        for index, layer in enumerate(self.layers[self.start_layer : self.end_layer]):
            if index in self.aux_hidden_state_layers:
                captured.append(hidden + residual if residual is not None else hidden)
            hidden, residual = layer(positions, hidden, residual)
        if self.end_layer in self.aux_hidden_state_layers:
            captured.append(hidden + residual)
""",
    # The same without a look behind the last layer.
    "never-the-last": """\
        captured = []
        for index, layer in enumerate(self.layers[self.start_layer : self.end_layer]):
            if index in self.aux_hidden_state_layers:
                captured.append(hidden + residual if residual is not None else hidden)
            hidden, residual = layer(positions, hidden, residual)
""",
    # Number n: the stream after n + 1 layers.
    "after": """\
        captured = []
        for index, layer in enumerate(self.layers[self.start_layer : self.end_layer]):
            hidden, residual = layer(positions, hidden, residual)
            if index in self.aux_hidden_state_layers:
                captured.append(hidden + residual)
""",
    # Through a helper that keeps the dictionary's order.
    "helper": """\
        captured = []
        self._keep(captured, 0, hidden, residual)
        for index, layer in enumerate(self.layers[self.start_layer : self.end_layer]):
            hidden, residual = layer(positions, hidden, residual)
            self._keep(captured, index + 1, hidden, residual)
""",
}
INTERFACE = """\
    def set_aux_hidden_state_layers(self, layers):
        self.model.aux_hidden_state_layers = layers

    def get_eagle3_default_aux_hidden_state_layers(self):
        count = len(self.model.layers)
        return (2, count // 2, count - 3)
"""


def _target(capture: str, interface: str) -> str:
    return f"""\
from torch import nn

from vllm.model_executor.models.utils import make_layers


class MiniTargetModel(nn.Module):
    def __init__(self, vllm_config, prefix=""):
        super().__init__()
        config = vllm_config.model_config.hf_text_config
        self.start_layer, self.end_layer, self.layers = make_layers(
            config.num_hidden_layers, lambda prefix: MiniTargetLayer(config), prefix=prefix
        )
        self.norm = RMSNorm(config.hidden_size)
        self.aux_hidden_state_layers = ()

    def _keep(self, captured, number, hidden, residual):
        if number in self.aux_hidden_state_layers:
            captured.append(hidden if residual is None else hidden + residual)

    def forward(self, input_ids, positions, intermediate_tensors=None, inputs_embeds=None):
        hidden, residual = inputs_embeds, None
{CAPTURES[capture]}        hidden, _ = self.norm(hidden, residual)
        if captured:
            return hidden, captured
        return hidden


class MiniTargetForCausalLM(nn.Module):
    def __init__(self, *, vllm_config, prefix=""):
        super().__init__()
        self.model = MiniTargetModel(vllm_config, prefix=prefix)

{INTERFACE if interface == "own" else ""}"""


# -- the drafter's layers ---------------------------------------------------------------

WINDOWS: dict[str, str] = {
    # Keys unread: all full.
    "unread": """\
        self.attn = Attention(config.num_attention_heads, config.head_dim, cache_config, prefix=prefix)
""",
    "per-layer": """\
        window = config.sliding_window if config.layer_types[index] == "sliding_attention" else None
        self.attn = Attention(
            config.num_attention_heads, config.head_dim, cache_config,
            per_layer_sliding_window=window, prefix=prefix,
        )
""",
    # Worked out, and dropped.
    "computed-not-used": """\
        window = config.sliding_window if config.layer_types[index] == "sliding_attention" else None
        self.window = window
        self.attn = Attention(config.num_attention_heads, config.head_dim, cache_config, prefix=prefix)
""",
    "every-layer": """\
        self.attn = Attention(
            config.num_attention_heads, config.head_dim, cache_config,
            per_layer_sliding_window=config.sliding_window, prefix=prefix,
        )
""",
    "refused-by-the-model": """\
        if len(set(config.layer_types)) > 1:
            raise NotImplementedError("layers that attend differently are not supported")
        self.attn = Attention(config.num_attention_heads, config.head_dim, cache_config, prefix=prefix)
""",
    "by-the-machine": """\
        window = platform.best_window(config.sliding_window)
        self.attn = Attention(
            config.num_attention_heads, config.head_dim, cache_config,
            per_layer_sliding_window=window, prefix=prefix,
        )
""",
}
MAPS: dict[str, str] = {
    "own-vocabulary": """\
        self.draft_id_to_target_id = None
        if getattr(config, "draft_vocab_size", None) not in (None, target.vocab_size):
            self.draft_id_to_target_id = nn.Parameter(torch.zeros(config.draft_vocab_size))
""",
    # A padded vocabulary is taken for one of its own.
    "always": """\
        self.draft_id_to_target_id = nn.Parameter(torch.zeros(config.vocab_size))
""",
}
SCALES: dict[str, str] = {
    "unread": "",
    "input": """\
        self.scale = getattr(config, "input_embedding_scale", 1.0)

    def embed(self, ids):
        return self.embed_tokens(ids) * self.scale
""",
    "dropped": """\
        self.scale = getattr(config, "input_embedding_scale", 1.0)
""",
    "all": """\
        self.scale = getattr(config, "input_embedding_scale", 1.0)
        self.out = getattr(config, "output_multiplier", 1.0)
        self.cap = getattr(config, "final_logit_softcapping", None)

    def embed(self, ids):
        return self.embed_tokens(ids) * self.scale

    def logits(self, states):
        return self.cap * torch.tanh(states * self.out / self.cap)
""",
}
WIDTHS: dict[str, str] = {
    "taps": "target.hidden_size * len(config.dflash_config['target_layer_ids'])",
    "one-more": "target.hidden_size * (len(config.dflash_config['target_layer_ids']) + 1)",
    "own": "config.hidden_size * len(config.dflash_config['target_layer_ids'])",
}


def _draft(window: str, mapping: str, scales: str, width: str) -> str:
    return f"""\
import torch
from torch import nn

from vllm.model_executor.layers.attention.attention import Attention
from vllm.model_executor.layers.linear import ReplicatedLinear
from vllm.platforms import platform


class MiniAttention(nn.Module):
    def __init__(self, config, index, cache_config, prefix):
        super().__init__()
        self.qkv_heads = config.num_key_value_heads
{WINDOWS[window]}

class MiniLayer(nn.Module):
    def __init__(self, config, index, cache_config, prefix):
        super().__init__()
        self.self_attn = MiniAttention(config, index, cache_config, prefix=prefix)


class MiniModel(nn.Module):
    def __init__(self, vllm_config, prefix):
        super().__init__()
        config = vllm_config.speculative_config.draft_model_config.hf_config
        target = vllm_config.model_config.hf_text_config
        self.layers = nn.ModuleList(
            [MiniLayer(config, i, vllm_config.cache_config, prefix) for i in range(config.num_hidden_layers)]
        )
        self.fc = ReplicatedLinear(
            input_size={WIDTHS[width]}, output_size=config.hidden_size, bias=False
        )
{SCALES[scales]}

class MiniDraft(nn.Module):
    def __init__(self, *, vllm_config, prefix=""):
        super().__init__()
        config = vllm_config.speculative_config.draft_model_config.hf_config
        target = vllm_config.model_config.hf_text_config
{MAPS[mapping]}        self.model = MiniModel(vllm_config, prefix)
"""


MAKE_LAYERS = """\
from torch import nn


def make_layers(count, layer_fn, prefix):
    start, end = share_of_this_rank(count)
    layers = nn.ModuleList([layer_fn(prefix=f"{prefix}.{index}") for index in range(start, end)])
    return start, end, layers
"""
ATTENTION = """\
from torch import nn


class Attention(nn.Module):
    def __init__(self, heads, head_size, cache_config=None, per_layer_sliding_window=None, prefix=""):
        super().__init__()
        if per_layer_sliding_window is not None:
            window = per_layer_sliding_window
        elif cache_config is not None:
            window = cache_config.sliding_window
        else:
            window = None
        self.sliding_window = window
        self.layer_name = prefix
"""


# -- the mask token ---------------------------------------------------------------------

MASKS: dict[str, str] = {
    "nested": """\
        asked = getattr(config, "dflash_config", None)
        if asked and "mask_token_id" in asked:
            self.parallel_drafting_token_id = asked["mask_token_id"]
        else:
            raise ValueError("the draft config names no mask_token_id")
""",
    "both": """\
        asked = getattr(config, "dflash_config", None) or {}
        self.parallel_drafting_token_id = asked.get("mask_token_id", getattr(config, "mask_token_id", None))
""",
    "fixed": """\
        asked = getattr(config, "dflash_config", None) or {}
        logger.debug("the config says %s", asked.get("mask_token_id"))
        self.parallel_drafting_token_id = 0
""",
    "tokenizer": """\
        asked = getattr(config, "dflash_config", None) or {}
        self.parallel_drafting_token_id = load_tokenizer(asked.get("mask_token_id")).mask
""",
}


def _proposer(mask: str) -> str:
    return f"""\
from tokens import load_tokenizer

from vllm.logger import init_logger

logger = init_logger(__name__)


class BlockProposer:
    def _take_mask_token(self):
        config = self.draft_model_config.hf_config
{MASKS[mask]}"""


SECOND_MASK = """\
def get_parallel_drafting_token_id(config):
    asked = getattr(config, "dflash_config", None) or {}
    if "mask_token_id" in asked:
        return asked["mask_token_id"]
    return config.mask_token_id
"""


# -- what the prefix cache drops --------------------------------------------------------

PREDICATES: dict[str, str] = {
    "eagle": """\
    def use_eagle(self):
        return self.method in ("eagle", "eagle3", "dflash")
""",
    # A predicate of its own that leaves out drafters which write context from the target.
    "own": """\
    def use_eagle(self):
        return self.method in ("eagle", "eagle3", "dflash")

    def drops_last_block(self):
        return self.use_eagle() and self.method != "dflash"
""",
    # The same behind a property, and a switch that wins over it.
    "property": """\
    disable_drop: bool = False

    def use_eagle(self):
        return self.method in ("eagle", "eagle3", "dflash")

    @property
    def writes_from_target(self):
        return self.method == "dflash"

    @property
    def drops_last_block(self):
        if self.disable_drop:
            return False
        return self.use_eagle() and not self.writes_from_target
""",
    "asks-the-weights": """\
    def use_eagle(self):
        return load_weights(self.model).wants_drop
""",
}
_FLAGS = {"eagle": "use_eagle()", "own": "drops_last_block()", "property": "drops_last_block"}
_FLAGS["asks-the-weights"] = "use_eagle()"


def _speculative(drop: str) -> str:
    return f"""\
from weights import load_weights


class SpeculativeConfig:
    method = None
    disable_padded_drafter_batch = False

    def uses_draft_model(self):
        return self.method == "draft_model"

{PREDICATES[drop]}"""


def _scheduler(drop: str) -> str:
    return f"""\
from vllm.v1.core.kv_cache_manager import KVCacheManager


class Scheduler:
    def __init__(self, vllm_config, kv_cache_config, block_size):
        self.vllm_config = vllm_config
        self.block_size = block_size
        self.drop_last = False
        speculative_config = vllm_config.speculative_config
        if speculative_config is not None:
            self.drop_last = speculative_config.{_FLAGS[drop]}
        self.kv_cache_manager = KVCacheManager(
            kv_cache_config=kv_cache_config,
            enable_caching=vllm_config.cache_config.enable_prefix_caching,
            use_eagle=self.drop_last,
        )
"""


MANAGER = """\
from vllm.v1.core.kv_cache_coordinator import get_kv_cache_coordinator


class KVCacheManager:
    def __init__(self, kv_cache_config, enable_caching=True, use_eagle=False):
        self.enable_caching = enable_caching
        self.coordinator = get_kv_cache_coordinator(kv_cache_config, use_eagle, enable_caching)
"""
FALLBACKS: dict[str, str] = {
    # Where no group is flagged, every group is.
    "every": """\
        if use_eagle and not self.eagle_group_ids:
            self.eagle_group_ids = set(range(len(kv_cache_config.kv_cache_groups)))
""",
    "none": "",
}


def _coordinator(fallback: str) -> str:
    return f"""\
class KVCacheCoordinator:
    def __init__(self, kv_cache_config, use_eagle):
        self.eagle_group_ids = {{
            number for number, group in enumerate(kv_cache_config.kv_cache_groups) if group.is_eagle_group
        }}
{FALLBACKS[fallback]}

def get_kv_cache_coordinator(kv_cache_config, use_eagle, enable_caching):
    return KVCacheCoordinator(kv_cache_config, use_eagle)
"""


ANNOTATES: dict[str, str] = {
    "nobody": """\
def get_kv_cache_configs(vllm_config, kv_cache_specs):
    return [kv_cache_specs]
""",
    # The trap: the drafter's group is marked, so its last block is dropped.
    "the-drafter": """\
def mark_eagle_groups(kv_cache_groups):
    for group in kv_cache_groups:
        if group.kv_cache_spec.is_draft:
            group.is_eagle_group = True
""",
}
ARGUMENTS: dict[str, str] = {
    "on": """\
class EngineArgs:
    enable_prefix_caching = None

    def create_engine_config(self):
        if self.enable_prefix_caching is None:
            self.enable_prefix_caching = default_caching()


def default_caching():
    return True
""",
    "off": """\
class EngineArgs:
    enable_prefix_caching = None

    def create_engine_config(self):
        if self.enable_prefix_caching is None:
            self.enable_prefix_caching = default_caching()


def default_caching():
    return False
""",
}


# -- the runner -------------------------------------------------------------------------

CHOICES: dict[str, str] = {
    "v1": """\
    @property
    def use_v2_model_runner(self):
        return envs.VLLM_USE_V2_MODEL_RUNNER or False
""",
    "v2": """\
    @property
    def use_v2_model_runner(self):
        if envs.VLLM_USE_V2_MODEL_RUNNER is not None:
            return envs.VLLM_USE_V2_MODEL_RUNNER
        return True
""",
    "v2-for-listed": """\
    @property
    def use_v2_model_runner(self):
        if envs.VLLM_USE_V2_MODEL_RUNNER is not None:
            return envs.VLLM_USE_V2_MODEL_RUNNER
        return self.model_config.architecture in ("MiniTargetForCausalLM", "OtherForCausalLM")
""",
    "v2-for-mixed": """\
    @property
    def use_v2_model_runner(self):
        if envs.VLLM_USE_V2_MODEL_RUNNER is not None:
            return envs.VLLM_USE_V2_MODEL_RUNNER
        kinds = getattr(self.speculative_config.draft_model_config.hf_config, "layer_types", None) or []
        if len(set(kinds)) > 1:
            return True
        return False
""",
}


def _checked_first(more: str = "") -> str:
    """The first runner takes no mixed drafter; ``more``: what else it does not take."""
    return f"""\
    def _check_second(self):
        return

    def _check_first(self):
        unsupported = []
        kinds = getattr(self.speculative_config.draft_model_config.hf_config, "layer_types", None) or []
        if len(set(kinds)) > 1:
            unsupported.append("a drafter with sliding and full attention")
{more}\
        if unsupported:
            raise ValueError(f"the first runner does not support {{', '.join(unsupported)}}")
"""


CHECKS: dict[str, str] = {
    # Which methods the second runner takes.
    "second-lacks-method": """\
    def _check_second(self):
        unsupported = []
        if self.speculative_config.method not in ("eagle", "mtp"):
            unsupported.append(f"speculative method '{self.speculative_config.method}'")
        if unsupported:
            raise ValueError(f"the second runner does not support {', '.join(unsupported)}")

    def _check_first(self):
        return
""",
    "first-refuses-mixed": _checked_first(),
    # What the first runner knows of drafters, and of its machine.
    "first-refuses-heads": _checked_first("""\
        if "DFlashDraftModel" in self.speculative_config.draft_model_config.architectures:
            unsupported.append("drafters with a head")
"""),
    "both": """\
    def _check_second(self):
        return

    def _check_first(self):
        return
""",
}


def _vllm_config(choice: str, check: str) -> str:
    return f"""\
import vllm.envs as envs


class VllmConfig:
    def __post_init__(self):
        if self.use_v2_model_runner:
            self._check_second()
        if not self.use_v2_model_runner:
            self._check_first()

{CHOICES[choice]}
{CHECKS[check]}"""


ENVS = """\
import os

environment_variables = {
    "VLLM_USE_V2_MODEL_RUNNER": lambda: (
        None
        if os.getenv("VLLM_USE_V2_MODEL_RUNNER") is None
        else bool(int(os.getenv("VLLM_USE_V2_MODEL_RUNNER")))
    ),
}


def __getattr__(name):
    if name in environment_variables:
        return environment_variables[name]()
    raise AttributeError(name)
"""
WORKER = """\
class Worker:
    def __init__(self, vllm_config):
        self.vllm_config = vllm_config
        self.use_v2_model_runner = vllm_config.use_v2_model_runner
"""


# -- the whole --------------------------------------------------------------------------


def texts(
    *,
    shift: str = "inline",
    guess: str = "info",
    second_shift: str = "comprehension",
    capture: str = "before",
    interface: str = "own",
    window: str = "per-layer",
    mapping: str = "own-vocabulary",
    scales: str = "unread",
    width: str = "taps",
    mask: str = "nested",
    drop: str = "own",
    fallback: str = "every",
    annotates: str = "nobody",
    caching: str = "on",
    choice: str = "v1",
    check: str = "both",
) -> dict[str, str]:
    """The files of a miniature; what no keyword names keeps every promise that it can."""
    files = {
        "vllm/__init__.py": "",
        "vllm/envs.py": ENVS,
        "vllm/logger.py": "import logging\n\n\ndef init_logger(name):\n    return logging.getLogger(name)\n",
        "vllm/config/model.py": pair.CONFIG["vllm/config/model.py"],
        "vllm/config/cache.py": pair.CONFIG["vllm/config/cache.py"],
        "vllm/config/parallel.py": pair.CONFIG["vllm/config/parallel.py"],
        "vllm/config/scheduler.py": pair.CONFIG["vllm/config/scheduler.py"],
        SPECULATIVE_FILE: _speculative(drop),
        CONFIG_FILE: _vllm_config(choice, check),
        "vllm/engine/arg_utils.py": ARGUMENTS[caching],
        "vllm/model_executor/layers/attention/attention.py": ATTENTION,
        "vllm/model_executor/models/registry.py": pair.CONFIG["vllm/model_executor/models/registry.py"],
        "vllm/model_executor/models/utils.py": MAKE_LAYERS,
        TARGET_FILE: _target(capture, interface),
        DRAFT_FILE: _draft(window, mapping, scales, width),
        PROPOSER_FILE: _proposer(mask),
        "vllm/v1/worker/gpu/spec_decode/utils.py": SECOND_MASK,
        "vllm/v1/worker/gpu_worker.py": WORKER,
        RUNNER_FILE: _first_runner(shift, guess),
        SECOND_RUNNER_FILE: _second_runner(second_shift),
        SCHEDULER_FILE: _scheduler(drop),
        "vllm/v1/core/kv_cache_manager.py": MANAGER,
        COORDINATOR_FILE: _coordinator(fallback),
        "vllm/v1/core/kv_cache_utils.py": ANNOTATES[annotates],
        "vllm/v1/kv_cache_interface.py": "class FullAttentionSpec:\n    block_size = 16\n",
    }
    if shift == "helper":
        files["vllm/v1/spec_decode/taps.py"] = HELPER
    return files


def tree_of(files: Mapping[str, str]) -> TextTree:
    """These files as an engine's tree."""
    return TextTree(source("vllm"), {path: text.encode() for path, text in files.items()})


def tree(**shapes: str) -> TextTree:
    """A miniature's tree."""
    return tree_of(texts(**shapes))


def engine(
    files: TextTree, case: Checkpoint | None = None, environment: Mapping[str, str] | None = None
) -> VllmEngine:
    """The engine's side of the contracts on this tree, the mixed pair on it unless told otherwise."""
    return VllmEngine(Program(files), case or pair.checkpoint(), environment)


def told(
    contract: str, runner: Runner | None = Runner.V1, case: Checkpoint | None = None, /, **shapes: str
) -> Told:
    """What a miniature answers to one question."""
    return engine(tree(**shapes), case).ask(contract, runner)


def finding(
    contract: str, runner: Runner | None = Runner.V1, case: Checkpoint | None = None, /, **shapes: str
) -> Finding:
    """The verdict on a miniature: its answer, the checkpoint's and the miniature reference's, joined."""
    return finding_on(tree(**shapes), contract, runner, case)


def finding_on(
    files: TextTree, contract: str, runner: Runner | None = Runner.V1, case: Checkpoint | None = None
) -> Finding:
    """The verdict on these files."""
    case = case or pair.checkpoint()
    answer = engine(files, case).ask(contract, runner)
    found = synthesize(
        [
            answer_of(answer, files, contract=contract, role=Role.ENGINE, agent="vllm", runner=runner),
            *_others(contract, case),
        ],
        case,
    )
    return next(f for f in found if f.contract == contract)


def _others(contract: str, case: Checkpoint) -> list[Answer]:
    """What the checkpoint and the reference say."""
    answers = []
    asked = BY_ID[contract].ask_checkpoint
    if asked is not None:
        answers.append(
            Answer(
                contract=contract, role=Role.CHECKPOINT, agent="hub", source="draft", outcome=asked(case)[0]
            )
        )
    if contract in QUESTIONS:
        reference = ask(contract, Program(REFERENCE), case)
        assert reference is not None
        answers.append(
            answer_of(reference, REFERENCE, contract=contract, role=Role.REFERENCE, agent="reference")
        )
    return answers


def with_weights(case: Checkpoint, **shapes: tuple[int, ...]) -> Checkpoint:
    """The drafter with these weights (``fc__weight=(32, 96)``) in its safetensors header."""
    tensors = {name.replace("__", "."): shape for name, shape in shapes.items()}
    return replace(case, draft=replace(case.draft, tensors=tensors))


def quotes(found: Finding, path: str) -> list[Evidence]:
    """The evidence of a finding that stands in one file of the engine."""
    return [item for item in found.evidence if item.source == "vllm" and item.path == path]
