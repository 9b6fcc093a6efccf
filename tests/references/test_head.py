"""Whose head gives a reference's draft its logits."""

import pytest

from investigator.code.program import Program
from investigator.model import Known, NotKnown, Outcome
from investigator.references.reading import ask
from tests.references.test_block import FUNCTION, METHOD, MODEL
from tests.support.builders import TextTree, source
from tests.support.miniature_vllm import checkpoint

DIRECT = METHOD.replace(
    "            hidden = self(noise_embedding=target.model.embed(block), use_cache=True)\n",
    "            logits = target.lm_head(self(\n"
    "                noise_embedding=target.model.embed(block), use_cache=True\n"
    "            )[:, 1 - size:, :])\n",
)
BY_HELPER = FUNCTION.replace(
    "            hidden = draft(noise_embedding=noise)\n",
    "            hidden = draft(noise_embedding=noise)[:, 1 - size :]\n"
    "            logits = scaled(hidden, head_of(target))\n",
).replace(
    "def generate(",
    "def head_of(target):\n"
    '    head = getattr(target, "lm_head", None)\n'
    "    return head if head is not None else target.get_output_embeddings()\n\n\n"
    "def scaled(hidden, head):\n"
    "    return head(hidden) * 2.0\n\n\n"
    "def generate(",
)
FORWARD = """\
    def forward(self, noise_embedding, use_cache=False):
        return noise_embedding

"""


def head(text: str) -> Outcome:
    tree = TextTree(source("reference"), {"ref/model.py": MODEL + FORWARD + text})
    told = ask("head-sharing", Program(tree), checkpoint())
    assert told is not None
    return told.outcome


@pytest.mark.parametrize("text", [DIRECT, BY_HELPER], ids=["direct", "by helpers"])
def test_the_targets_head_gives_the_logits(text: str) -> None:
    assert head(text) == Known("target")


def test_a_head_of_the_draft_model_is_not_the_targets() -> None:
    assert isinstance(head(DIRECT.replace("target.lm_head(", "self.own_head(")), NotKnown)
