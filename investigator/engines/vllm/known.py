"""What the registry knows of vLLM."""

from investigator.engines.registry import EngineKnown
from investigator.engines.vllm.backends import FLAGS
from investigator.engines.vllm.engine import QUESTIONS, VllmEngine
from investigator.engines.vllm.prefix_cache import SWITCH
from investigator.engines.vllm.roles import HINTS

ENGINE = EngineKnown(
    name="vllm",
    make=VllmEngine,
    questions=QUESTIONS,
    hints=HINTS,
    first="0.20.0",
    lines="https://github.com/vllm-project/vllm/blob/v{version}/{path}#L{line}",
    flags=(*FLAGS, SWITCH),
    variables="vllm/envs.py",
)
