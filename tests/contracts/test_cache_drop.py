"""``cache-drop``: the chain from a predicate over the scheduler to the coordinator's groups."""

from dataclasses import replace

import pytest

from investigator.code.program import Program
from investigator.contracts.cache_drop import CONTRACT
from investigator.contracts.contract import Sides, judge
from investigator.engines.vllm.engine import VllmEngine
from investigator.model import Answer, Json, Known, Role, Verdict
from tests.support import mini_vllm as mini
from tests.support.miniature_vllm import checkpoint


@pytest.mark.parametrize(
    ("shapes", "verdict", "why"),
    [
        (
            {"drop": "eagle"},
            Verdict.BROKEN,
            "the last matched block of every group is dropped on a prefix-cache hit"
            " (prefix caching is on by default)",
        ),
        ({"drop": "own"}, Verdict.HONOURED, "no KV-cache group drops its last matched block"),
        ({"drop": "property"}, Verdict.HONOURED, "no KV-cache group drops its last matched block"),
        # The flag is set, and nothing comes of it: no group is flagged and there is no fallback.
        (
            {"drop": "eagle", "fallback": "none"},
            Verdict.HONOURED,
            "no KV-cache group drops its last matched block",
        ),
        # Marking the drafter's group looks like the repair; its block is dropped all the same.
        (
            {"drop": "own", "annotates": "the-drafter"},
            Verdict.BROKEN,
            "the last matched block of the group 'draft attention' is dropped on a prefix-cache hit"
            " (prefix caching is on by default)",
        ),
    ],
    ids=lambda value: "-".join(value.values()) if isinstance(value, dict) else None,
)
def test_which_groups_drop_a_block(shapes: dict[str, str], verdict: Verdict, why: str) -> None:
    found = mini.finding("cache-drop", None, **shapes)

    assert (found.verdict, found.why) == (verdict, why)


def test_the_evidence_is_the_chain() -> None:
    found = mini.finding("cache-drop", None, drop="eagle")

    engine = [item for item in found.evidence if item.source == "vllm"]
    assert [(item.path, item.role) for item in engine[2:]] == [
        (mini.COORDINATOR_FILE, "the coordinator flags every group"),
        ("vllm/engine/arg_utils.py", "whether prefix caching is on by default"),
    ]
    assert [item.path for item in engine[:2]] == [mini.SPECULATIVE_FILE, mini.SCHEDULER_FILE]


@pytest.mark.parametrize(("caching", "live"), [("on", True), ("off", False)])
def test_a_fault_may_sleep_until_caching_is_switched_on(caching: str, live: bool) -> None:
    found = mini.finding("cache-drop", None, drop="eagle", caching=caching)

    assert found.verdict is Verdict.BROKEN
    assert found.live is live
    assert f"prefix caching is {caching} by default" in found.why


@pytest.mark.parametrize(
    ("caching", "flag", "live", "said"),
    [
        ("on", "--no-enable-prefix-caching", False, "prefix caching is off by the deployment's flag"),
        ("off", "--enable-prefix-caching", True, "prefix caching is on by the deployment's flag"),
        ("on", "--attention-backend", True, "prefix caching is on by default"),
    ],
)
def test_a_flag_of_the_deployment_wakes_the_fault_or_puts_it_to_sleep(
    caching: str, flag: str, live: bool, said: str
) -> None:
    engine = VllmEngine(Program(mini.tree(drop="eagle", caching=caching)), checkpoint(), {flag: ""})

    told = engine.ask("cache-drop", None)

    assert (told.live, told.note) == (live, said)


def test_a_flag_that_the_weights_decide_is_unknown() -> None:
    found = mini.finding("cache-drop", None, drop="asks-the-weights")

    assert found.verdict is Verdict.UNKNOWN


def test_a_predicate_hidden_behind_a_switch() -> None:
    """The switch is off by default; on, it wins over the predicate."""
    files = mini.texts(drop="property")
    files[mini.SPECULATIVE_FILE] = files[mini.SPECULATIVE_FILE].replace(
        "return self.use_eagle() and not self.writes_from_target", "return self.use_eagle()"
    )
    switched = {
        **files,
        mini.SPECULATIVE_FILE: files[mini.SPECULATIVE_FILE].replace("bool = False", "bool = True"),
    }

    assert mini.finding_on(mini.tree_of(files), "cache-drop", None).verdict is Verdict.BROKEN
    assert mini.finding_on(mini.tree_of(switched), "cache-drop", None).verdict is Verdict.HONOURED


@pytest.mark.parametrize(
    ("dropped", "verdict"), [(["target", "draft"], Verdict.HONOURED), ([], Verdict.BROKEN)]
)
def test_the_rule_fits_a_drafter_that_reads_the_next_token(dropped: list[Json], verdict: Verdict) -> None:
    eagle = checkpoint(architectures=["LlamaForCausalLMEagle3"], dflash_config=None)
    sides = Sides(
        checkpoint=None,
        references=(),
        engine=Answer(
            contract="cache-drop",
            role=Role.ENGINE,
            agent="vllm",
            source="vllm",
            outcome=Known({"dropped": dropped, "hashed ahead": 0}),
        ),
        facts=eagle,
    )

    assert eagle.method == "eagle3"
    assert judge(CONTRACT, sides).verdict is verdict


def test_a_method_whose_cache_needs_no_hidden_state_does_not_need_it() -> None:
    answers = {
        role: Answer(contract=CONTRACT.id, role=role, agent=role.value, source=role.value, outcome=Known([]))
        for role in (Role.REFERENCE, Role.ENGINE)
    }
    sides = Sides(
        checkpoint=None,
        references=(answers[Role.REFERENCE],),
        engine=answers[Role.ENGINE],
        facts=replace(checkpoint(), method="ngram"),
    )
    found = judge(CONTRACT, sides)

    assert found.verdict is Verdict.NOT_APPLICABLE
    assert found.why == "what ngram keeps in the prefix cache depends on no hidden state of its target"
