"""The engine of docs/adding-an-engine.md, as it stands there."""

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from investigator.code.program import Program
from investigator.engines.registry import EngineKnown
from investigator.model import Known, NotKnown, Outcome, Refused
from tests.support.builders import TextTree, source
from tests.support.releases import FULL, pair

PAGE = Path(__file__).parents[3] / "docs" / "adding-an-engine.md"
BLOCK = re.compile(r"```python\n# (my_engine/\w+\.py)\n(.*?)```", re.DOTALL)


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> EngineKnown:
    """What the page's files make, as a package of its own would."""
    blocks: Mapping[str, str] = dict(BLOCK.findall(PAGE.read_text(encoding="utf-8")))
    assert set(blocks) == {"my_engine/answers.py", "my_engine/investigated.py"}
    for path in sorted(blocks):  # the answers before what names them
        module = ModuleType(path.removesuffix(".py").replace("/", "."))
        exec(compile(blocks[path], path, "exec"), module.__dict__)
        monkeypatch.setitem(sys.modules, module.__name__, module)
    made: Any = sys.modules["my_engine.investigated"]
    assert isinstance(made.ENGINE, EngineKnown)
    return made.ENGINE


@pytest.mark.parametrize(
    ("body", "outcome"),
    [
        ('return [k + 1 for k in config.dflash_config["target_layer_ids"]]', Known([2, 10, 18, 26, 34])),
        ('return config.dflash_config["target_layer_ids"]', Known([1, 9, 17, 25, 33])),
        ('raise ValueError("no layers")', Refused("ValueError: no layers")),
    ],
)
def test_the_engine_of_the_page_answers(body: str, outcome: Outcome, engine: EngineKnown) -> None:
    assert ask(body, engine) == outcome


@pytest.mark.parametrize("body", ["return [measured()]", "return config.named_by_its_class", "return absent"])
def test_what_it_cannot_follow_is_not_known(body: str, engine: EngineKnown) -> None:
    assert isinstance(ask(body, engine), NotKnown)


def ask(body: str, engine: EngineKnown) -> Outcome:
    text = f"def plan_taps(config):\n    {body}\n"
    program = Program(TextTree(source("myengine"), {"myengine/config.py": text}))
    return engine.make(program, pair(FULL), {}).ask("target-layer-offset", None).outcome
