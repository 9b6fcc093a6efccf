"""Lookahead slots, followed from the scheduler's field or the config's property to ``allocate_slots``."""

import pytest

from investigator.engines.vllm.lookahead import reserved
from investigator.model import Known, NotKnown
from tests.support.miniature_vllm import world

SCHEDULER = """\
class Scheduler:
    def __init__(self, vllm_config):
        self.running = []
        self.connector = None
        if vllm_config.kv_transfer_config is not None:
            self.connector = make_connector(vllm_config)
{field}

    def schedule(self):
        index = 0
        while index < len(self.running):
            request = self.running[index]
            while True:
                blocks = self.kv.allocate_slots(request, 1, num_lookahead_tokens=self.num_lookahead_tokens)
                if blocks is not None:
                    break
            index += 1
        while self.waiting:
            request = self.waiting.pop()
            load_kv_async = False
            if request.num_computed_tokens == 0 and self.connector is not None:
                tokens, load_kv_async = self.connector.matched(request)
            lookahead = {admission}
            blocks = self.kv.allocate_slots(request, 7, num_lookahead_tokens=lookahead)
            if blocks is None:
                break
            self.running.append(request)
"""
FIELD = """\
        self.num_spec_tokens = self.num_lookahead_tokens = 0
        speculative_config = vllm_config.speculative_config
        if speculative_config:
            self.num_spec_tokens = speculative_config.num_speculative_tokens
            if speculative_config.use_eagle():
                self.num_lookahead_tokens = self.num_spec_tokens
            if speculative_config.uses_draft_model():
                self.num_lookahead_tokens = self.num_spec_tokens
"""
ONE_MORE = """\
            if speculative_config.use_dflash():
                self.num_lookahead_tokens = self.num_spec_tokens + 1
"""
PROPERTY = """\
class VllmConfig:
    @property
    def num_lookahead_tokens(self):
        speculative_config = self.speculative_config
        if speculative_config is None:
            return 0
        if speculative_config.use_dflash():
            return speculative_config.num_speculative_tokens + 1
        return speculative_config.num_speculative_tokens
"""
NONE_AT_FIRST = "0 if request.num_computed_tokens == 0 else self.num_lookahead_tokens"
UNLESS_LOADING = "0 if load_kv_async and self.num_lookahead_tokens > 0 else self.num_lookahead_tokens"
PATH = "vllm/v1/core/sched/scheduler.py"


def scheduler(field: str, admission: str) -> str:
    return SCHEDULER.format(field=field, admission=admission)


@pytest.mark.parametrize(
    ("files", "slots"),
    [
        # A block of four tokens: three speculative ones and the anchor.
        ({PATH: scheduler(FIELD, NONE_AT_FIRST)}, {"running": 3, "first": 0}),
        ({PATH: scheduler(FIELD, UNLESS_LOADING)}, {"running": 3, "first": 3}),
        ({PATH: scheduler(FIELD + ONE_MORE, UNLESS_LOADING)}, {"running": 4, "first": 4}),
        ({PATH: scheduler(FIELD + ONE_MORE, NONE_AT_FIRST)}, {"running": 4, "first": 0}),
        (
            {
                PATH: scheduler(
                    "        self.num_lookahead_tokens = vllm_config.num_lookahead_tokens", UNLESS_LOADING
                ),
                "vllm/config/vllm.py": PROPERTY,
            },
            {"running": 4, "first": 4},
        ),
        # The same scheduler where nobody expects it.
        ({"vllm/engine/queue.py": scheduler(FIELD + ONE_MORE, UNLESS_LOADING)}, {"running": 4, "first": 4}),
    ],
    ids=["0 first", "as eagle", "one more", "one more, 0 first", "property", "elsewhere"],
)
def test_the_slots_reserved_for_a_running_request_and_at_first(
    files: dict[str, str], slots: dict[str, int]
) -> None:
    assert reserved(world(files)).outcome == Known(slots)


def test_the_steps_lead_from_the_field_to_both_calls() -> None:
    text = scheduler(FIELD + ONE_MORE, NONE_AT_FIRST)
    found = reserved(world({PATH: text}))

    lines = text.splitlines()
    quoted = [lines[step.place.line - 1].strip() for step in found.steps]
    assert quoted == [
        "self.num_lookahead_tokens = self.num_spec_tokens + 1",
        "blocks = self.kv.allocate_slots(request, 1, num_lookahead_tokens=self.num_lookahead_tokens)",
        f"lookahead = {NONE_AT_FIRST}",
    ]


def test_a_call_that_passes_no_lookahead_reserves_the_managers_default() -> None:
    text = scheduler(FIELD, UNLESS_LOADING).replace(", num_lookahead_tokens=lookahead", "")
    manager = "class KVCacheManager:\n    def allocate_slots(self, a, b, num_lookahead_tokens=2): ...\n"

    found = reserved(world({PATH: text, "vllm/v1/core/kv_cache_manager.py": manager}))

    assert found.outcome == Known({"running": 3, "first": 2})


def test_the_tighter_of_two_calls_counts() -> None:
    text = scheduler(FIELD + ONE_MORE, UNLESS_LOADING)
    text += "            self.kv.allocate_slots(request, 1, num_lookahead_tokens=1)\n"

    assert reserved(world({PATH: text})).outcome == Known({"running": 4, "first": 1})


def test_a_number_left_by_an_earlier_round_is_not_known() -> None:
    text = scheduler(FIELD, "extra").replace("        index = 0", "        index = extra = 0")
    text += "            extra = self.num_lookahead_tokens\n"

    outcome = reserved(world({PATH: text})).outcome

    assert isinstance(outcome, NotKnown)
    assert "an earlier round of a loop" in outcome.reason


def test_a_tree_without_a_scheduler_is_not_known() -> None:
    assert reserved(world({})).outcome == NotKnown("no class Scheduler was found")
