import pytest

from investigator.errors import UsageError
from investigator.validation.plan import (
    CPU,
    GPU,
    GPU_REFERENCE,
    MODELLED,
    Kind,
    Workload,
    engine_variants,
    make_plan,
    parse_budget,
    reference_variants,
)

WORK = Workload(prompts=16, prompt_tokens=256, new_tokens=100, weight_bytes=4 << 20, speculative_tokens=7)
PLACES = {Kind.ENGINE: GPU, Kind.REFERENCE: GPU_REFERENCE}


def names(variants: object) -> list[str]:
    return [v.name for v in variants]  # type: ignore[attr-defined]


def test_three_repairs_make_the_whole_table() -> None:
    assert names(engine_variants(["offset", "layer-types", "cache-drop"], reference=True)) == [
        "as-released",
        "all-repairs",
        "reference",
        "only-offset",
        "only-layer-types",
        "only-cache-drop",
        "without-offset",
        "without-layer-types",
        "without-cache-drop",
        "no-speculation",
        "reference-with-layer-types-broken",
    ]


def test_with_two_repairs_one_left_out_is_the_other_alone() -> None:
    assert names(engine_variants(["a", "b"], reference=False)) == [
        "as-released",
        "all-repairs",
        "only-a",
        "only-b",
        "no-speculation",
    ]


def test_one_repair_alone_is_all_of_them() -> None:
    assert names(engine_variants(["a"], reference=False)) == ["as-released", "all-repairs", "no-speculation"]


def test_an_engine_without_patches_is_compared_with_the_reference() -> None:
    assert names(engine_variants([], reference=True)) == ["as-released", "reference", "no-speculation"]


def test_the_reference_has_the_faults_that_nothing_repairs_too() -> None:
    found = engine_variants(["layer-types"], True, ["layer-types", "in-block-causality", "lookahead"])

    assert {v.name: v.faults for v in found if v.faults} == {
        "reference-with-layer-types-broken": ("layer-types",),
        "reference-with-in-block-causality-broken": ("in-block-causality",),
    }


def test_leaving_one_out_keeps_the_order_of_the_patches() -> None:
    found = {v.name: v.repaired for v in engine_variants(["a", "b", "c"], reference=False)}
    assert found["without-b"] == ("a", "c")
    assert found["no-speculation"] == ("a", "b", "c")


def test_on_a_cpu_what_is_not_repaired_is_a_fault_of_the_reference() -> None:
    found = {
        v.name: (v.repaired, v.faults) for v in reference_variants(["layer-types", "target-layer-offset"])
    }
    assert found == {
        "reference": (("target-layer-offset", "layer-types"), ()),
        "as-released": ((), ("target-layer-offset", "layer-types")),
        "only-target-layer-offset": (("target-layer-offset",), ("layer-types",)),
        "only-layer-types": (("layer-types",), ("target-layer-offset",)),
    }


def test_a_contract_that_does_not_change_drafts_has_no_prediction() -> None:
    assert names(reference_variants(["cache-drop", "lookahead"])) == ["reference"]


def test_the_faults_that_are_modelled() -> None:
    assert MODELLED == (
        "target-layer-offset", "layer-types", "in-block-causality", "mask-token", "rope", "feature-width",
    )  # fmt: skip


def test_a_budget_keeps_the_most_telling_variants() -> None:
    variants = engine_variants(["a", "b"], reference=False)
    whole = make_plan(variants, WORK, PLACES)
    assert not whole.cut
    # Engine variants take 45 s to start and 200 steps (2 x 100) of 0.02 s when nothing is accepted,
    # 80 steps with repairs, four at once: 12.25 s and 11.65 s a variant.
    cut = make_plan(variants, WORK, PLACES, budget=25)
    assert names(cut.variants) == ["as-released", "all-repairs"]
    assert cut.cut == ("only-a", "only-b", "no-speculation")
    assert cut.seconds == pytest.approx(12.25 + 11.65)


def test_a_budget_without_room_for_a_comparison_is_refused() -> None:
    with pytest.raises(UsageError, match="holds no comparison") as caught:
        make_plan(engine_variants(["a"], reference=False), WORK, PLACES, budget=20)
    assert caught.value.advice.startswith("give --budget 1m")


def test_memory_counts_the_weights_twice_and_what_the_engine_takes() -> None:
    plan = make_plan(engine_variants([], reference=False), WORK, PLACES)
    assert plan.estimates["as-released"].memory_bytes == (5 << 30) + 2 * (4 << 20)


def test_the_prediction_on_two_cores_is_planned_within_a_minute() -> None:
    variants = reference_variants(["target-layer-offset", "layer-types"])
    assert make_plan(variants, WORK, {Kind.REFERENCE: CPU, Kind.ENGINE: CPU}).seconds < 60


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("90s", 90), ("10m", 600), ("1h30m", 5400), ("2h", 7200)]
)
def test_budgets_read_as_people_write_them(text: str, seconds: float) -> None:
    assert parse_budget(text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "10 m", "-5m", "m", "1.5h"])
def test_other_budgets_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="cannot read the budget"):
        parse_budget(text)
