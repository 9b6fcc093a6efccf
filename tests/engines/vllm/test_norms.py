"""The epsilons of a draft model's norms, in each shape that a draft model makes them in."""

import pytest

from investigator.engines.vllm.draft_keys import norm_epsilon
from investigator.model import Json, Known, NotKnown, Runner
from tests.support.miniature_vllm import DRAFT_MODEL, RUNNERS, checkpoint, world

MODEL = "vllm/model_executor/models/mini_draft.py"
LAYERNORM = """\
class RMSNorm:
    def __init__(self, hidden_size, eps=1e-6):
        self.variance_epsilon = eps


class BareNorm:
    def __init__(self, hidden_size, eps):
        self.variance_epsilon = eps
"""


def asked(norm: str, **draft: Json) -> Known | NotKnown:
    """The answer for a draft model that makes this norm beside its layers."""
    text = DRAFT_MODEL[MODEL].replace(
        "        self.model = MiniModel(vllm_config, prefix)\n",
        f"        self.model = MiniModel(vllm_config, prefix)\n        self.norm = {norm}\n",
    )
    head = (
        "from elsewhere import anything\nfrom vllm.model_executor.layers.layernorm import BareNorm, RMSNorm\n"
    )
    files = {
        **DRAFT_MODEL,
        **RUNNERS,
        MODEL: head + text,
        "vllm/model_executor/layers/layernorm.py": LAYERNORM,
    }
    outcome = norm_epsilon(world(files, checkpoint(rms_norm_eps=1e-05, **draft)), Runner.V1).outcome
    assert isinstance(outcome, Known | NotKnown)
    return outcome


@pytest.mark.parametrize(
    ("norm", "epsilons"),
    [
        ("RMSNorm(32, eps=self.config.rms_norm_eps)", [1e-05]),
        ("RMSNorm(32, self.config.rms_norm_eps)", [1e-05]),
        ("nn.RMSNorm(32, eps=self.config.rms_norm_eps)", [1e-05]),
        ("RMSNorm(32)", [1e-06]),
        ("(RMSNorm(32), RMSNorm(32, eps=self.config.rms_norm_eps))", [1e-06, 1e-05]),
    ],
)
def test_a_norm_has_what_it_is_given_or_its_classs_default(norm: str, epsilons: list[Json]) -> None:
    assert asked(norm) == Known(epsilons)


def test_a_norm_that_is_followed_into_counts_too() -> None:
    norm = "OwnNorm(self.config.hidden_size, self.config.rms_norm_eps)"
    own = "class OwnNorm:\n    def __init__(self, size, epsilon):\n        self.epsilon = epsilon\n\n\n"
    files = {**DRAFT_MODEL, **RUNNERS}
    files[MODEL] = own + files[MODEL].replace(
        "        self.model = MiniModel(", f"        self.norm = {norm}\n        self.model = MiniModel("
    )

    told = norm_epsilon(world(files, checkpoint(rms_norm_eps=1e-05)), Runner.V1)

    assert told.outcome == Known([1e-05])
    assert [told.steps[0].place.path] == [MODEL]


@pytest.mark.parametrize(
    ("norm", "reason"),
    [
        ("BareNorm(32)", "the epsilon of BareNorm"),
        ("RMSNorm(32, eps=anything())", "the epsilon of RMSNorm"),
        ("None", "no norm of the draft model was seen made"),
    ],
)
def test_what_cannot_be_seen_is_not_known(norm: str, reason: str) -> None:
    found = asked(norm)

    assert isinstance(found, NotKnown)
    assert found.reason.startswith(reason)
