"""A toy engine that breaks six promises, and a judge that runs it to see which it keeps.

It plays the roles that the repairs look for and is small enough to read. The judge executes
it: it is this project's own writing, unlike an engine under investigation.
"""

import importlib
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

from investigator.checkpoint import Checkpoint, ModelConfig
from investigator.model import Finding, Json, Origin, Runner, Source, SourceKind, Verdict
from investigator.patches.repairs import Fault
from investigator.sources.interface import Tree
from investigator.sources.text_tree import TextTree

SPECULATIVE = """\
class SpeculativeConfig:
    def __init__(self, method, num_speculative_tokens=7):
        self.method = method
        self.num_speculative_tokens = num_speculative_tokens

    def use_eagle(self) -> bool:
        return self.method in ("eagle", "mtp", "dflash")

    def use_dflash(self) -> bool:
        return self.method == "dflash"

    def uses_draft_model(self) -> bool:
        return self.method == "draft_model"
"""

SCHEDULER = """\
from vllm.v1.core.kv_cache_manager import KVCacheManager


class Scheduler:
    def __init__(self, speculative_config, groups, block_size=16):
        self.block_size = block_size
        self.use_eagle = False
        self.num_spec_tokens = 0
        self.num_lookahead_tokens = 0
        if speculative_config:
            self.num_spec_tokens = speculative_config.num_speculative_tokens
            if speculative_config.use_eagle():
                self.use_eagle = True
                self.num_lookahead_tokens = self.num_spec_tokens
            if speculative_config.uses_draft_model():
                self.num_lookahead_tokens = self.num_spec_tokens

        # One manager serves every group.
        self.waiting = []
        self.kv_cache_manager = KVCacheManager(
            groups,
            use_eagle=self.use_eagle,
        )

    def split_for_mamba(self, num_tokens):
        block_size = self.block_size
        last = num_tokens - num_tokens % block_size
        if self.use_eagle:
            last = max(last - block_size, 0)
        return last

    def encoder_shift(self):
        return 1 if self.use_eagle else 0

    def schedule(self, request, load_kv_async=False):
        # Keeps the numbers of local and remote blocks the same.
        effective_lookahead_tokens = (
            0 if request.num_computed_tokens == 0 else self.num_lookahead_tokens
        )
        return self.kv_cache_manager.allocate_slots(
            request,
            num_lookahead_tokens=effective_lookahead_tokens,
            delay_cache_blocks=load_kv_async,
        )
"""

MANAGER = """\
class KVCacheManager:
    def __init__(self, groups, use_eagle=False):
        flagged = {i for i, g in enumerate(groups) if g.is_eagle_group}
        if use_eagle and not flagged:
            flagged = set(range(len(groups)))
        self.dropping_groups = flagged

    def allocate_slots(self, request, num_lookahead_tokens=0, delay_cache_blocks=False):
        return num_lookahead_tokens
"""

GROUPS = """\
class Group:
    is_eagle_group = False


def annotate_groups(spec_config, groups):
    if spec_config is None or not spec_config.use_eagle():
        return
    groups[-1].is_eagle_group = True
"""

RUNNER = """\
class Runner:
    def __init__(self, hf_config):
        self.hf_config = hf_config

    def numbers_to_capture(self):
        layer_ids = getattr(self.hf_config, "eagle_aux_hidden_state_layer_ids", None)
        if not layer_ids:
            dflash_config = getattr(self.hf_config, "dflash_config", None)
            if dflash_config:
                layer_ids = dflash_config.get("target_layer_ids")
        return tuple(layer_ids) if layer_ids else None
"""

CONVERTER = """\
def convert(found, config):
    ids = found["aux_hidden_state_layer_ids"]
    config["eagle_aux_hidden_state_layer_ids"] = ids
    config["dflash_config"] = {
        "mask_token_id": found["mask_token_id"],
        "target_layer_ids": ids,
    }
"""

ATTENTION = """\
class Impl:
    def __init__(self, window):
        self.window = window


class Attention:
    def __init__(self, num_heads, per_layer_sliding_window=None, prefix="", cache_window=None):
        if per_layer_sliding_window is not None:
            window = per_layer_sliding_window
        else:
            window = cache_window
        self.sliding_window = window
        self.impl = Impl(window)

    def get_kv_cache_spec(self):
        if self.sliding_window is not None:
            return ("sliding", self.sliding_window)
        return ("full", None)
"""

MODEL = """\
from vllm.model_executor.layers.attention import Attention


def layout_of(target_model):
    return getattr(target_model, "is_neox_style", None)


class DFlashAttention:
    def __init__(
        self,
        num_heads: int,
        prefix: str = "",
    ) -> None:
        self.attn = Attention(
            num_heads,
            prefix=f"{prefix}.attn",
        )
        self.num_heads = num_heads


class DFlashLayer:
    def __init__(
        self,
        *,
        config,
        prefix: str = "",
    ) -> None:
        self.self_attn = DFlashAttention(
            num_heads=config.num_attention_heads,
            prefix=f"{prefix}.self_attn",
        )


class DFlashModel:
    def __init__(self, config, start_layer_id=0):
        self.layers = [
            DFlashLayer(
                config=config,
                prefix=f"layers.{i + start_layer_id}",
            )
            for i in range(config.num_hidden_layers)
        ]
"""

PROPOSER = """\
class CommonAttentionMetadata:
    def __init__(self, num_reqs, causal=True):
        self.causal = causal


class Proposer:
    def __init__(self, draft_model_config):
        self.draft_model_config = draft_model_config

    def load_model(self, target_model):
        self.in_halves = getattr(self.draft_model_config.hf_config, "is_neox_style", True)


class DFlashProposer(Proposer):
    def __init__(self, draft_model_config):
        super().__init__(draft_model_config)
        self.mask = 0

    def load_model(self, target_model):
        from vllm.model_executor.models.qwen3_dflash import (
            layout_of,
        )

        # The draft model turns as its target does.
        is_neox_style = layout_of(target_model)
        if is_neox_style is not None:
            self.draft_model_config.hf_config.is_neox_style = is_neox_style
        super().load_model(target_model)

    def metadata(self):
        made = CommonAttentionMetadata(
            num_reqs=1,
            causal=False,  # blocks are never causal
        )
        assert getattr(made, "causal", None) is False, "the backend must know non-causal attention"
        return made

    def uses_aux(self):
        config = getattr(self.draft_model_config.hf_config, "dflash_config", None)
        return config is not None
"""

FILES = {
    "vllm/config/speculative.py": SPECULATIVE,
    "vllm/v1/core/sched/scheduler.py": SCHEDULER,
    "vllm/v1/core/kv_cache_manager.py": MANAGER,
    "vllm/v1/core/kv_cache_utils.py": GROUPS,
    "vllm/v1/worker/gpu_model_runner.py": RUNNER,
    "vllm/transformers_utils/configs/speculators/algos.py": CONVERTER,
    "vllm/model_executor/layers/attention.py": ATTENTION,
    "vllm/model_executor/models/qwen3_dflash.py": MODEL,
    "vllm/v1/spec_decode/dflash.py": PROPOSER,
}

Files = Mapping[str, str | bytes]
Verdicts = dict[tuple[str, Runner | None], Verdict]

OFFSET = ("target-layer-offset", Runner.V1)
TYPES = ("layer-types", Runner.V1)
DROP = ("cache-drop", None)
LOOKAHEAD = ("lookahead", None)
CAUSALITY = ("in-block-causality", Runner.V1)
ROTATION = ("rope", Runner.V1)


def tree(files: Files = FILES, **changed: str | bytes) -> TextTree:
    """The miniature as a tree; ``changed`` names files by their stem (``scheduler=...``)."""
    stems = {Path(path).stem: path for path in files}
    texts = {**files, **{stems[stem]: text for stem, text in changed.items()}}
    source = Source(
        id="vllm",
        kind=SourceKind.FOLDER,
        name="vllm",
        revision="0",
        origin=Origin.LOCAL,
        retrieved_at=datetime(2026, 10, 1, tzinfo=UTC),
    )
    return TextTree(
        source, {path: text.encode() if isinstance(text, str) else text for path, text in texts.items()}
    )


def checkpoint(**keys: Json) -> Checkpoint:
    """A drafter of three layers: two with a window of 8, one full; ``keys`` overrides its config."""
    raw: dict[str, Json] = {
        "architectures": ["DFlashDraftModel"],
        "num_hidden_layers": 3,
        "num_attention_heads": 2,
        "layer_types": ["sliding_attention", "sliding_attention", "full_attention"],
        "sliding_window": 8,
        "dflash_config": {"target_layer_ids": [1, 4], "mask_token_id": 9},
        **keys,
    }
    types = raw["layer_types"]
    return Checkpoint(
        method="dflash",
        layout="z-lab",
        draft=ModelConfig(repo="toy/draft", revision="0", source="draft", raw=raw, normalised=raw),
        target=None,
        num_draft_layers=3,
        num_target_layers=6,
        target_layer_ids=(1, 4),
        layer_types=tuple(types) if isinstance(types, list) else None,
        windows=(8, 8, None),
        block_size=8,
        mask_token_id=9,
    )


def fault(contract: str, **keys: Json) -> Fault:
    """A broken promise of the toy, told as a finding."""
    runner = None if contract in ("cache-drop", "lookahead") else Runner.V1
    finding = Finding(
        contract=contract,
        runner=runner,
        verdict=Verdict.BROKEN,
        why="the toy does not keep it",
        agents=("vllm", "hub"),
        promised="what the drafter was trained on",
        happens="something else",
        consequence="drafts are rejected",
    )
    return Fault(contract=contract, checkpoint=checkpoint(**keys), findings=(finding,))


class Thing:
    """An object with the attributes it is given."""

    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)


@contextmanager
def imported(asked: Tree) -> Iterator[Callable[[str], ModuleType]]:
    """Import the toy's modules from a tree; nothing of it stays behind."""
    with tempfile.TemporaryDirectory() as folder:
        for path in asked.paths():
            file = Path(folder, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(asked.read(path))
        sys.path.insert(0, folder)
        sys.dont_write_bytecode, kept = True, sys.dont_write_bytecode
        importlib.invalidate_caches()
        try:
            yield importlib.import_module
        finally:
            sys.path.remove(folder)
            sys.dont_write_bytecode = kept
            for name in [name for name in sys.modules if name == "vllm" or name.startswith("vllm.")]:
                del sys.modules[name]
            importlib.invalidate_caches()


def judge(draft: Checkpoint | None = None) -> Callable[[Tree], Verdicts]:
    """The questions, put by running the toy with this drafter."""
    config = dict((draft or checkpoint()).draft.normalised)
    hf_config = Thing(**config)

    def ask(asked: Tree) -> Verdicts:
        with imported(asked) as load:
            return {
                OFFSET: _verdict(lambda: _offset(load, hf_config)),
                TYPES: _verdict(lambda: _types(load, hf_config)),
                DROP: _verdict(lambda: _drop(load)),
                LOOKAHEAD: _verdict(lambda: _lookahead(load)),
                CAUSALITY: _verdict(lambda: _causality(load, hf_config)),
                ROTATION: _verdict(lambda: _rotation(load, config)),
            }

    return ask


def _verdict(kept: Callable[[], bool]) -> Verdict:
    try:
        return Verdict.HONOURED if kept() else Verdict.BROKEN
    except Exception:  # whatever a mutated toy does is its answer
        return Verdict.UNKNOWN


def _module(load: Callable[[str], ModuleType], name: str) -> Any:
    return load(f"vllm.{name}")


def _offset(load: Callable[[str], ModuleType], hf_config: Thing) -> bool:
    """Ids of decoder layers are shifted once; capture numbers of the other format are not."""
    runner = _module(load, "v1.worker.gpu_model_runner").Runner
    converted: dict[str, Any] = {}
    found = {"aux_hidden_state_layer_ids": [2, 5], "mask_token_id": 9}
    _module(load, "transformers_utils.configs.speculators.algos").convert(found, converted)
    other = Thing(**converted)
    without_raw = Thing(dflash_config=converted["dflash_config"])
    captures = [runner(config).numbers_to_capture() for config in (hf_config, other, without_raw)]
    return captures == [(2, 5)] * 3 and runner(Thing()).numbers_to_capture() is None


def _types(load: Callable[[str], ModuleType], hf_config: Thing) -> bool:
    """Each layer's own window reaches the attention; the KV cache keeps everything."""
    model = _module(load, "model_executor.models.qwen3_dflash").DFlashModel
    attentions = [layer.self_attn.attn for layer in model(hf_config, start_layer_id=6).layers]
    plain = model(Thing(num_hidden_layers=1, num_attention_heads=2)).layers[0].self_attn.attn
    return (
        [attention.impl.window for attention in attentions] == [8, 8, None]
        and all(attention.get_kv_cache_spec() == ("full", None) for attention in attentions)
        and plain.impl.window is None
    )


def _scheduler(load: Callable[[str], ModuleType], method: str | None) -> Any:
    group = _module(load, "v1.core.kv_cache_utils").Group
    config = _module(load, "config.speculative").SpeculativeConfig(method) if method else None
    return _module(load, "v1.core.sched.scheduler").Scheduler(config, [group(), group()])


def _drop(load: Callable[[str], ModuleType]) -> bool:
    """No group of a DFlash drafter drops a block, EAGLE's still do, encoders are shifted for both."""
    groups = _module(load, "v1.core.kv_cache_utils")
    annotated = [groups.Group(), groups.Group()]
    config = _module(load, "config.speculative").SpeculativeConfig
    groups.annotate_groups(config("dflash"), annotated)
    dflash, eagle, none = (_scheduler(load, method) for method in ("dflash", "eagle", None))
    assert (eagle.kv_cache_manager.dropping_groups, eagle.split_for_mamba(40)) == ({0, 1}, 16)
    assert none.kv_cache_manager.dropping_groups == set()
    assert (dflash.encoder_shift(), eagle.encoder_shift()) == (1, 1)
    return (
        dflash.kv_cache_manager.dropping_groups == set()
        and dflash.split_for_mamba(40) == 32
        and not any(group.is_eagle_group for group in annotated)
    )


def _lookahead(load: Callable[[str], ModuleType]) -> bool:
    """Eight slots for seven drafts, from the first step on, none while K/V is loaded."""
    dflash, eagle = _scheduler(load, "dflash"), _scheduler(load, "eagle")
    fresh, running = Thing(num_computed_tokens=0), Thing(num_computed_tokens=5)
    assert eagle.schedule(running) == 7
    return (dflash.schedule(fresh), dflash.schedule(running), dflash.schedule(fresh, True)) == (8, 8, 0)


def _rotation(load: Callable[[str], ModuleType], config: Mapping[str, Json]) -> bool:
    """The draft model rotates in halves beside a target that rotates in pairs."""
    proposer = _module(load, "v1.spec_decode.dflash").DFlashProposer(Thing(hf_config=Thing(**config)))
    proposer.load_model(Thing(is_neox_style=False))
    return proposer.in_halves is True


def _causality(load: Callable[[str], ModuleType], hf_config: Thing) -> bool:
    """A block is causal when the drafter says so, and not otherwise."""
    proposer = _module(load, "v1.spec_decode.dflash").DFlashProposer
    said = vars(hf_config).get("is_causal", vars(hf_config)["dflash_config"].get("causal", False))
    silent = proposer(Thing(hf_config=Thing(dflash_config={}))).metadata().causal
    return proposer(Thing(hf_config=hf_config)).metadata().causal is said and silent is False
