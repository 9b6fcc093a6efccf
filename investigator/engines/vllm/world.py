"""The objects that vLLM's code is handed: configs made of the checkpoint's own numbers.

A ``VllmConfig`` is made of the real classes of the release under investigation, so their
properties, methods and defaults are the release's own; only what the case fixes is set.
What is taken for granted about the deployment is in ``ASSUMPTIONS``, and is reported.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from investigator.checkpoint import Checkpoint
from investigator.code.interpreter import Interpreter, Native
from investigator.code.program import Program
from investigator.code.values import (
    ClassValue,
    Instance,
    Unknown,
    Value,
)
from investigator.engines.configs import NO_TARGET, architectures, config_object, names
from investigator.engines.deployment import Deployment, variables
from investigator.engines.interface import Told
from investigator.engines.vllm import mtp, roles
from investigator.engines.vllm.hf_configs import (
    draft_config,
    gather_rope,
    target_window,
)
from investigator.engines.vllm.platform import CONSTANTS, NATIVES
from investigator.model import Runner

ASSUMPTIONS = (
    "one CUDA GPU with Triton; no tensor, pipeline, data or context parallelism",
    "no LoRA, KV connector, custom logits processor or diffusion model",
    "engine arguments at their defaults except those the case names",
)
RUNNER_VARIABLE = "VLLM_USE_V2_MODEL_RUNNER"
NO_ARCHITECTURE = f"the target's architecture is not known; {NO_TARGET}"


@dataclass(frozen=True)
class World:
    """One engine tree and one checkpoint; makes fresh objects for each question.

    ``deployment``: the variables and server flags that the deployment sets.
    """

    program: Program
    checkpoint: Checkpoint
    deployment: Deployment = field(default_factory=dict)

    def start(
        self,
        runner: Runner | None = None,
        *,
        follow: frozenset[str] = frozenset(),
        natives: Mapping[str, Native] | None = None,
    ) -> "Session":
        """An interpreter in this world, with a runner forced by its variable (or left to choose)."""
        environment = variables(self.deployment)
        if runner is not None:
            environment[RUNNER_VARIABLE] = "1" if runner is Runner.V2 else "0"
        interp = Interpreter(
            self.program,
            follow=follow,
            natives={**NATIVES, **(natives or {})},
            constants=CONSTANTS,
            environment=environment,
        )
        return Session(interp, self, runner)

    def target_flag(self, name: str) -> Value:
        """What the class of the target's architecture says of itself (``is_hybrid``)."""
        named = architectures(self.checkpoint.target)

        def look(program: Program) -> Value:
            environment = variables(self.deployment)
            interp = Interpreter(program, natives=NATIVES, constants=CONSTANTS, environment=environment)
            return roles.architecture_flag(interp, named, name)

        return self.program.shared(f"{name} {self.identity}", look)

    @cached_property
    def identity(self) -> str:
        """Tells worlds over one tree apart: a hash of the checkpoint and the deployment."""
        text = f"{self.checkpoint!r} {sorted(self.deployment.items())!r}"
        return hashlib.sha256(text.encode()).hexdigest()

    def all_full(self) -> "World":
        """The same drafter with full attention in every layer: for questions that are not
        about windows, so that a refusal of mixed drafters does not hide their answer."""
        draft = self.checkpoint.draft
        layers = self.checkpoint.num_draft_layers
        plain = {**draft.normalised, "layer_types": ["full_attention"] * layers, "sliding_window": None}
        checkpoint = replace(
            self.checkpoint,
            draft=replace(draft, normalised=plain),
            layer_types=("full_attention",) * layers,
            windows=(None,) * layers,
        )
        return replace(self, checkpoint=checkpoint)

    @property
    def num_speculative_tokens(self) -> int:
        """Draft tokens a step, as the checkpoint or its user says."""
        return self.checkpoint.draft_tokens or 7


class Session:
    """The objects of one question. ``vllm_config`` and the rest are made on first use."""

    def __init__(self, interp: Interpreter, world: World, runner: Runner | None) -> None:
        self.interp = interp
        self.world = world
        self.runner = runner
        checkpoint = world.checkpoint
        self.draft_config = draft_config(interp, checkpoint)
        target = checkpoint.target
        known = (target.normalised, target.complete) if target is not None else ({}, False)
        self.target_config = config_object(known[0], "target config", known[1])
        text = self.target_config.attributes.get("text_config")
        self.target_text_config = text if isinstance(text, Instance) else self.target_config
        self.told: Told | None = None
        """The answer to every question where the engine does not start with this drafter."""
        for config in (self.draft_config, self.target_text_config):
            gather_rope(config)
        self.vllm_config = self._vllm_config()
        interp.natives["get_current_vllm_config"] = lambda *_: self.vllm_config
        interp.natives["ModelConfig.get_vocab_size"] = lambda *_: self._target_vocabulary()
        interp.natives["get_current_vllm_config_or_none"] = lambda *_: self.vllm_config

    def class_named(self, name: str, hint: str) -> ClassValue | None:
        """A class of the engine by name: from the hinted file, else from wherever it is defined."""
        return roles.class_named(self.interp, name, hint)

    def supply(self, name: str, annotation: str) -> Value:
        """What a parameter of one of the engine's functions holds, by annotation or name."""
        kind = annotation.strip("\"' ").split("|")[0].strip().rpartition(".")[2]
        by_type: dict[str, Value] = {
            "VllmConfig": self.vllm_config,
            "SpeculativeConfig": self.speculative_config,
            "ModelConfig": self.model_config,
            "CacheConfig": self.vllm_config.attributes["cache_config"],
        }
        by_name: dict[str, Value] = {
            "vllm_config": self.vllm_config,
            "spec_config": self.speculative_config,
            "speculative_config": self.speculative_config,
            "model_config": self.model_config,
        }
        if kind in by_type:
            return by_type[kind]
        return by_name.get(name, NotImplemented)

    @property
    def speculative_config(self) -> Instance:
        """The ``SpeculativeConfig``."""
        found = self.vllm_config.attributes["speculative_config"]
        assert isinstance(found, Instance)
        return found

    @property
    def model_config(self) -> Instance:
        """The target's ``ModelConfig``."""
        found = self.vllm_config.attributes["model_config"]
        assert isinstance(found, Instance)
        return found

    def _object(self, cls: ClassValue | None, label: str | None, **attributes: Value) -> Instance:
        return Instance(cls, attributes, complete=False, label=label)

    def _vllm_config(self) -> Instance:
        checkpoint, config = self.world.checkpoint, "vllm/config"
        draft_model = self._object(
            None,
            "draft model config",
            hf_config=self.draft_config,
            hf_text_config=self.draft_config,
            architectures=names(self.draft_config.attributes.get("architectures")),
            model=checkpoint.draft.repo,
            quantization=None,
        )
        speculative_class = self.class_named("SpeculativeConfig", f"{config}/speculative.py")
        speculative = self._object(
            speculative_class,
            "speculative config",
            method=checkpoint.method,
            draft_model_config=draft_model,
            num_speculative_tokens=self.world.num_speculative_tokens,
            parallel_drafting=checkpoint.method == "dflash",
            model=checkpoint.draft.repo,
            speculative_token_tree=Unknown("the tree of drafted tokens is worked out when the engine starts"),
        )
        named = architectures(checkpoint.target)
        target = self._object(
            self.class_named("ModelConfig", f"{config}/model.py"),
            "target model config",
            hf_config=self.target_config,
            hf_text_config=self.target_text_config,
            architectures=named,
            architecture=named[0] if named else Unknown(NO_ARCHITECTURE),
            runner_type="generate",
            is_diffusion=False,
            is_attention_free=False,
            is_encoder_decoder=False,
            is_multimodal_model="text_config" in self.target_config.attributes,
            is_moe=self._is_moe(),
            quantization=None,
            logits_processors=None,
            enable_return_routed_experts=False,
            enforce_eager=False,
            multimodal_config=None,
        )
        hybrid = self.world.target_flag("is_hybrid")
        for name in ("is_hybrid", "has_inner_state"):
            target.attributes[name] = hybrid
        cache = self._object(
            self.class_named("CacheConfig", f"{config}/cache.py"),
            "cache config",
            sliding_window=target_window(self.target_text_config),
            kv_sharing_fast_prefill=False,
            cache_dtype="auto",
        )
        parallel = self._object(
            self.class_named("ParallelConfig", f"{config}/parallel.py"),
            "parallel config",
            pipeline_parallel_size=1,
            tensor_parallel_size=1,
            data_parallel_size=1,
            prefill_context_parallel_size=1,
            decode_context_parallel_size=1,
            world_size=1,
            rank=0,
            enable_dbo=False,
            use_ubatching=False,
            enable_eplb=False,
            enable_elastic_ep=False,
        )
        if mtp.is_mtp(checkpoint):
            started = mtp.start(
                self.interp,
                checkpoint,
                speculative_class,
                target.cls,
                target,
                parallel,
                self.world.num_speculative_tokens,
            )
            speculative, self.draft_config, self.told = (
                started.speculative,
                started.draft_config,
                started.told,
            )
            gather_rope(self.draft_config)
        scheduler = self._object(
            self.class_named("SchedulerConfig", f"{config}/scheduler.py"), "scheduler config"
        )
        compilation = self._object(
            self.class_named("CompilationConfig", f"{config}/compilation.py"),
            "compilation config",
            cudagraph_mode=Unknown("the CUDA graph mode is worked out when the engine starts"),
        )
        return self._object(
            self.class_named("VllmConfig", f"{config}/vllm.py"),
            "vllm config",
            model_config=target,
            speculative_config=speculative,
            cache_config=cache,
            parallel_config=parallel,
            scheduler_config=scheduler,
            compilation_config=compilation,
            quant_config=None,
            lora_config=None,
            kv_transfer_config=None,
            ec_transfer_config=None,
            kv_events_config=None,
            diffusion_config=None,
        )

    def _is_moe(self) -> Value:
        """Whether the target has experts: by its config, or, where that is not whole, by its class."""
        text_config = self.target_text_config
        for key in ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts"):
            count = text_config.attributes.get(key)
            if isinstance(count, int):
                return count > 0
        if text_config.complete:
            return False
        return self.world.target_flag("is_mixture_of_experts")

    def _target_vocabulary(self) -> Value:
        size = self.target_text_config.attributes.get("vocab_size")
        return size if isinstance(size, int) else Unknown("the size of the target's vocabulary")

    def layers(self) -> int | None:
        """How many decoder layers the target has."""
        count = self.target_text_config.attributes.get("num_hidden_layers")
        return count if isinstance(count, int) else self.world.checkpoint.num_target_layers
