"""Whether a draft model is built at all, where what decides that stands in another file."""

import pytest

from investigator.engines.vllm import draft_layers
from investigator.model import Known, Outcome, Refused, Runner
from tests.support.miniature_vllm import DRAFT_MODEL, RUNNERS, TARGET_MODEL, world

PATH = "vllm/model_executor/models/mini_draft.py"
MAKING = "        self.rotary_emb = get_rope"
CHECK = """        from vllm.flags import strict

        if config.layer_types[i] == "full_attention" and strict():
            raise NotImplementedError("no mixed drafters")
"""
FLAGS = """
from vllm.words import one

def strict():
    return one(WORD) == 1
"""
WORDS = "NUMBERS = {'on': 1, 'off': 0}\n\ndef one(word):\n    return NUMBERS[word]\n"


def windows(flags: str, words: str = WORDS) -> Outcome:
    files = {**RUNNERS, **DRAFT_MODEL, **TARGET_MODEL, "vllm/flags.py": flags, "vllm/words.py": words}
    before = files[PATH]
    files[PATH] = before.replace(MAKING, CHECK + MAKING)
    assert files[PATH] != before
    return draft_layers.windows(world(files), Runner.V1).outcome


@pytest.mark.parametrize(
    ("word", "outcome"),
    [
        ("'on'", Refused("NotImplementedError: no mixed drafters")),
        ("'off'", Known([8, 8, None])),
    ],
)
def test_what_decides_whether_the_engine_stops_is_followed(word: str, outcome: Outcome) -> None:
    assert windows(FLAGS.replace("WORD", word)) == outcome


def test_where_nothing_decides_it_runs_that_come_to_their_end_are_told_of() -> None:
    assert windows("from elsewhere import strict\n") == Known([8, 8, None])
