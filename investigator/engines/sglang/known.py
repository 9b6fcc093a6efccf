"""What the registry knows of SGLang."""

from investigator.engines.registry import EngineKnown
from investigator.engines.sglang.engine import QUESTIONS, SglangEngine
from investigator.engines.sglang.roles import HINTS
from investigator.engines.sglang.world import BACKEND_FLAGS, SWITCHES

ENGINE = EngineKnown(
    name="sglang",
    make=SglangEngine,
    questions=QUESTIONS,
    hints=HINTS,
    first="0.5.11",
    lines="https://github.com/sgl-project/sglang/blob/v{version}/python/{path}#L{line}",
    flags=(*BACKEND_FLAGS, *SWITCHES),
)
