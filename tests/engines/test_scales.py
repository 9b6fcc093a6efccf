"""A scale that is read has to be used, too."""

from dataclasses import replace

import pytest

from investigator.checkpoint import Checkpoint
from investigator.code.interpreter import Interpreter
from investigator.code.program import Program
from investigator.code.values import ClassValue, Unknown
from investigator.engines.interface import Told
from investigator.engines.scales import applied
from investigator.model import Known
from tests.support.builders import TextTree, source
from tests.support.releases import FULL, pair

KEY = "input_embedding_scale"


def kept(init: str, embed: str) -> object:
    """Which keys count for a model that does this with a scale that it reads."""
    code = (
        f"class Model:\n    def __init__(self, config, made):\n        scale = float(config['{KEY}'])\n"
        f"        {init}\n\n    def embed(self, ids):\n        return {embed}\n"
    )
    given = pair(FULL)
    scaled = replace(given, draft=replace(given.draft, normalised={**given.draft.normalised, KEY: 2.0}))

    def build(checkpoint: Checkpoint) -> Interpreter:
        interp = Interpreter(Program(TextTree(source(), {"model.py": code})))
        module = interp.program.module("model")
        assert module is not None
        cls = interp.global_name(module, "Model")
        assert isinstance(cls, ClassValue)
        interp.construct(cls, (dict(checkpoint.draft.normalised), Unknown("what makes parts")), {}, None)
        return interp

    outcome = applied(Told(outcome=Known([KEY, "vocab_size"])), scaled, build).outcome
    assert isinstance(outcome, Known)
    return outcome.value


@pytest.mark.parametrize(
    ("init", "embed"),
    [
        ("self.scale = scale", "ids * self.scale"),
        ("self.scale = scale", 'ids * getattr(self, "scale")'),
        ("self.scale, self.other = scale, 1", "self.scale"),
        ("self.part = made.Part(scale=scale)", "self.part(ids)"),
        ("pass", "ids"),  # where it went is not seen
    ],
)
def test_a_scale_that_is_used_or_may_be(init: str, embed: str) -> None:
    assert kept(init, embed) == [KEY, "vocab_size"]


@pytest.mark.parametrize("embed", ["ids", "ids * 1.0"])
def test_a_scale_that_is_kept_and_never_looked_at(embed: str) -> None:
    assert kept("self.scale = scale", embed) == ["vocab_size"]
