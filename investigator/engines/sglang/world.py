"""The objects that SGLang's code is handed: configs made of the checkpoint's own numbers.

``ServerArgs``, ``ModelConfig`` and the speculative algorithm are made of the real classes of
the release under investigation; only what the case fixes is set. What is taken for granted
about the deployment is in ``ASSUMPTIONS``, and is reported.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from investigator.checkpoint import Checkpoint
from investigator.code import classes
from investigator.code.interpreter import Frame, Interpreter, Native
from investigator.code.program import Program
from investigator.code.values import ClassValue, FunctionValue, Instance, Unknown, Value
from investigator.engines.configs import config_object, names
from investigator.engines.deployment import Deployment, switched, variables
from investigator.engines.finding import class_named
from investigator.engines.interface import Told
from investigator.engines.sglang import mtp
from investigator.engines.sglang.hf_configs import TRANSFORMERS, model_config, transformers
from investigator.engines.sglang.platform import CONSTANTS, NATIVES

ASSUMPTIONS = (
    "one CUDA GPU; no tensor, pipeline, data or context parallelism, no offloading",
    "server arguments at their defaults except those the case names",
)
ALGORITHMS = {"dflash": "DFLASH", "eagle3": "EAGLE3", "eagle": "EAGLE", "dspark": "DSPARK", "mtp": "NEXTN"}
"""The speculative method -> what ``--speculative-algorithm`` calls it."""
SPEC_INFO = "sglang/srt/speculative/spec_info.py"
MAKES = "from_server_args"
MODEL_CONFIG = "sglang/srt/configs/model_config.py"
SWITCHES = ("--disable-radix-cache", "--disable-overlap-schedule")
BACKEND_FLAGS = (
    "--speculative-draft-attention-backend",
    "--prefill-attention-backend",
    "--attention-backend",
)
"""What names the attention backend of the draft, the strongest first."""


@dataclass(frozen=True)
class World:
    """One engine tree and one checkpoint; makes fresh objects for each question."""

    program: Program
    checkpoint: Checkpoint
    deployment: Deployment = field(default_factory=dict)

    def start(
        self, *, follow: frozenset[str] = frozenset(), natives: Mapping[str, Native] | None = None
    ) -> "Session":
        """An interpreter in this world."""
        interp = Interpreter(
            self.program,
            follow=follow,
            natives={**NATIVES, **(natives or {})},
            constants=CONSTANTS,
            environment=variables(self.deployment),
        )
        return Session(interp, self)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What is taken for granted here."""
        return ASSUMPTIONS if transformers(self.program) else (*ASSUMPTIONS, f"Transformers {TRANSFORMERS}")


class Session:
    """The objects of one question."""

    def __init__(self, interp: Interpreter, world: World) -> None:
        self.interp = interp
        self.world = world
        checkpoint = world.checkpoint
        self.draft_config = model_config(interp, checkpoint.draft, "draft config")
        self.target_config = (
            model_config(interp, checkpoint.target, "target config")
            if checkpoint.target is not None
            else config_object({}, "target config", complete=False)
        )
        self.target_config.attributes.setdefault("encoder_only", False)
        self.target_config.attributes.setdefault("language_only", False)
        text = self.target_config.attributes.get("text_config")
        self.target_text_config = text if isinstance(text, Instance) else self.target_config
        if "num_loops" not in self.target_text_config.attributes and self.layers_run_once():
            self.target_text_config.attributes["num_loops"] = 1
        self.algorithm = self._algorithm()
        self.server_args = self._server_args()
        self.model_config = self._model_config(
            self.target_config, self.target_text_config, "target model config"
        )
        self.told: Told | None = None
        """The answer to every question where the engine does not start with this drafter."""
        self.draft_model_config = self._draft_model_config()
        interp.natives[self._where_made()] = self._from_server_args
        interp.natives["_build_model_config"] = self._from_server_args
        for name in ("get_server_args", "get_global_server_args", "get_spec"):
            interp.natives.setdefault(name, lambda *_: self.server_args)

    def supply(self, name: str, annotation: str) -> Value:
        """What a parameter of one of the engine's functions holds, by its name."""
        given: dict[str, Value] = {
            "server_args": self.server_args,
            "model_config": self.model_config,
            "spec_algorithm": self.algorithm,
            "is_draft_worker": False,
            "quant_config": None,
            "prefix": "",
        }
        return given.get(name, NotImplemented)

    def layers(self) -> int | None:
        """How many decoder layers the target has."""
        count = self.target_text_config.attributes.get("num_hidden_layers")
        return count if isinstance(count, int) else self.world.checkpoint.num_target_layers

    def layers_run_once(self) -> bool:
        """Whether the target runs its layers once a pass: the drafter counts as many as there are."""
        count = self.target_text_config.attributes.get("num_hidden_layers")
        return count is not None and count == self.world.checkpoint.draft.raw.get("num_target_layers")

    def frame(self, cls: ClassValue) -> Frame:
        """A frame at a class's module: to ask objects for attributes from."""
        return Frame(self.interp.globals_of(cls.module))

    @property
    def draft_architectures(self) -> list[str]:
        """The architectures of the drafter's config as the engine hands it to its code."""
        return names(self.draft_config.attributes.get("architectures"))

    def _draft_model_config(self) -> Instance:
        checkpoint = self.world.checkpoint
        if not mtp.is_mtp(checkpoint):
            return self._model_config(self.draft_config, self.draft_config, "draft model config")
        text = self.draft_config.attributes.get("text_config")
        text = text if isinstance(text, Instance) else self.draft_config
        made = self._model_config(self.draft_config, text, "draft model config")
        self.told = mtp.start(self.interp, checkpoint, made, self.algorithm_name)
        config = made.attributes["hf_config"]
        assert isinstance(config, Instance)
        self.draft_config = config
        return made

    def _algorithm(self) -> Value:
        checkpoint = self.world.checkpoint
        name: Value = ALGORITHMS.get(checkpoint.method, checkpoint.method.upper())
        if mtp.is_mtp(checkpoint):
            name = mtp.algorithm(self.interp, name, self.draft_config, checkpoint.draft.repo)
        self.algorithm_name = name
        if isinstance(name, Unknown):
            return name
        cls = class_named(self.interp, "SpeculativeAlgorithm", SPEC_INFO)
        if cls is None:
            return Unknown("no class SpeculativeAlgorithm was found")
        factory = self.interp.attribute(self.frame(cls), cls.node, cls, "from_string")
        found = self.interp.call(self.frame(cls), cls.node, factory, (name,), {})
        if isinstance(found, Instance):
            found.label = "speculative algorithm"  # whatever asks it something is followed
        return found

    def _server_args(self) -> Instance:
        checkpoint = self.world.checkpoint
        return Instance(
            None,
            {
                "speculative_algorithm": self.algorithm_name,
                "speculative_draft_model_path": checkpoint.draft.repo,
                "speculative_draft_model_revision": None,
                "speculative_draft_attention_backend": None,
                **self._flags(),
                "model_path": checkpoint.target.repo if checkpoint.target is not None else "target",
                "tp_size": 1,
                "pp_size": 1,
                "dp_size": 1,
                "device": "cuda",
            },
            complete=False,
            label="server args",
        )

    def _flags(self) -> dict[str, Value]:
        """The server arguments that the deployment's flags set: what follows them is told."""
        deployment = self.world.deployment
        switches = {flag: switched(deployment, flag) for flag in SWITCHES}
        texts = {flag: deployment[flag] for flag in BACKEND_FLAGS if flag in deployment}
        given = {**{flag: on for flag, on in switches.items() if on is not None}, **texts}
        return {flag.removeprefix("--").replace("-", "_"): value for flag, value in given.items()}

    def _model_config(self, config: Instance, text_config: Instance, label: str) -> Instance:
        cls = class_named(self.interp, "ModelConfig", MODEL_CONFIG)
        layers = text_config.attributes.get("num_hidden_layers", NotImplemented)
        known: dict[str, Value] = {"hf_config": config, "hf_text_config": text_config}
        if layers is not NotImplemented:
            known |= {"num_hidden_layers": layers, "num_attention_layers": layers}
        known["num_nextn_predict_layers"] = text_config.attributes.get("num_nextn_predict_layers")
        return Instance(cls, known, complete=False, label=label)

    def _where_made(self) -> str:
        """The qualified name of the method that makes a ``ModelConfig``; it may stand in a base."""
        cls = self.model_config.cls
        made = classes.class_attribute(self.interp, cls, MAKES) if cls is not None else None
        return made.qualified_name if isinstance(made, FunctionValue) else f"ModelConfig.{MAKES}"

    def _from_server_args(
        self, interp: Interpreter, args: tuple[Value, ...], kwargs: dict[str, Value]
    ) -> Value:
        """``ModelConfig.from_server_args(server_args, is_draft_model=...)``."""
        return self.draft_model_config if kwargs.get("is_draft_model") is True else self.model_config
