"""Judgements from counters that a person can check: 20 prompts of 10 drafts each."""

from collections.abc import Mapping

import pytest

from investigator.validation.assess import Assessment, assess
from investigator.validation.plan import engine_variants, reference_variants
from investigator.validation.results import Count, Pass, VariantResult
from investigator.validation.sentences import sentences

OFFSET, WINDOW, DROP = "target-layer-offset", "layer-types", "cache-drop"
CAUSALITY = "in-block-causality"


def result(
    name: str, accepted: int, hits: int | None = None, texts: int = 20, prompt: int = 50
) -> VariantResult:
    """A variant that accepts about ``accepted`` tokens per 10 drafts; ``texts`` of 20 are the common ones."""
    rows = {
        p: Count(drafts=10, draft_tokens=70, accepted=accepted + p % 3, per_position=(accepted + p % 3,))
        if accepted + p % 3 <= 10
        else Count(
            drafts=10, draft_tokens=70, accepted=accepted + p % 3, per_position=(10, accepted + p % 3 - 10)
        )
        for p in range(20)
    }
    total = Count(
        drafts=200,
        draft_tokens=1400,
        accepted=sum(r.accepted for r in rows.values()),
        per_position=(sum(r.per_position[0] for r in rows.values()),),
    )
    outputs = tuple((1, 2, 3) if p < texts else (1, 9, 3) for p in range(20))
    fresh = Pass(seconds=2.0, total=total, prompts=rows, outputs=outputs)
    reuse = Pass(seconds=2.0, total=total, prompts=rows, prefix_queries=20 * prompt, prefix_hits=hits)
    return VariantResult(variant=name, status="done", fresh=fresh, reuse=None if hits is None else reuse)


def judged(accepted: Mapping[str, int], broken: tuple[str, ...], repairs: tuple[str, ...]) -> Assessment:
    variants = tuple(v for v in engine_variants(repairs, reference=True) if v.name in accepted)
    results = {name: result(name, n) for name, n in accepted.items()}
    return assess(variants, results, place="local", engine="vllm==0", pair="tiny", broken=broken)


TABLE = {
    "as-released": 0,
    "all-repairs": 14,
    "reference": 14,
    f"only-{OFFSET}": 0,
    f"only-{WINDOW}": 10,
}


def test_effects_alone_and_given_the_other() -> None:
    found = {e.contract: e for e in judged(TABLE, (OFFSET, WINDOW), (OFFSET, WINDOW)).effects}
    # The mean of p % 3 over 20 prompts is 0.95: as released 1 + 0.095, and it cancels in differences.
    window, offset = found[WINDOW], found[OFFSET]
    assert window.alone is not None
    assert window.alone.value == pytest.approx(1.0)
    assert window.given_others is not None
    assert window.given_others.value == pytest.approx(1.4)
    assert offset.alone is not None
    assert (offset.alone.value, offset.alone.decided) == (0.0, "none")
    assert offset.given_others is not None
    assert offset.given_others.value == pytest.approx(0.4)
    assert offset.given_others.decided == "gain"


def test_what_to_repair_first_and_what_shows_only_together() -> None:
    said = "\n".join(sentences(judged(TABLE, (OFFSET, WINDOW), (OFFSET, WINDOW))))
    assert (
        f"{WINDOW}: alone +1.00 [+1.00, +1.00], given the others +1.40 [+1.40, +1.40]: repair this first."
        in said
    )
    assert "worth repairing together with the others; alone it brings nothing." in said
    assert (
        "With all repairs the engine reaches 100% [100%, 100%] of the reference's acceptance length." in said
    )


def test_a_table_as_the_findings_say_contradicts_nothing() -> None:
    assert judged(TABLE, (OFFSET, WINDOW), (OFFSET, WINDOW)).contradictions == ()


def test_a_repair_that_makes_it_worse_contradicts_its_finding() -> None:
    table = {"as-released": 10, "all-repairs": 4, "reference": 4}
    (found, *_) = judged(table, (WINDOW,), (WINDOW,)).contradictions
    assert found == (
        f"{WINDOW}: the finding says that the engine breaks it, but its repair "
        "lowers acceptance length by 0.60"
    )


def test_nothing_lost_contradicts_what_is_called_broken() -> None:
    (found,) = judged({"as-released": 14, "reference": 14}, (WINDOW,), ()).contradictions
    assert found == (
        f"the findings say that {WINDOW} cost acceptance, "
        "but the engine as released reaches the reference (100%)"
    )


def test_a_gap_that_all_repairs_leave_contradicts_that_nothing_else_is_broken() -> None:
    table = {"as-released": 0, "all-repairs": 6, "reference": 14}
    (found,) = judged(table, (WINDOW,), (WINDOW,)).contradictions
    assert "with every repair reaches 68% of the reference's acceptance length" in found


def gap(predicted: int, kept: tuple[str, ...] = (WINDOW, CAUSALITY)) -> Assessment:
    """One repair, after which the engine has less than the reference; ``predicted``: what the
    reference has with another fault; ``kept``: what holds with the repair, by its proof."""
    accepted = {"as-released": 0, "all-repairs": 3, "reference": 14}
    name = f"reference-with-{CAUSALITY}-broken"
    variants = [v for v in engine_variants([WINDOW], True, [CAUSALITY]) if v.name in (*accepted, name)]
    results = {n: result(n, a) for n, a in {**accepted, name: predicted}.items()}
    broken = (WINDOW, CAUSALITY)
    return assess(variants, results, place="local", engine="vllm==0", pair="tiny", broken=broken, kept=kept)


def test_a_gap_is_told_by_the_fault_that_it_is_like() -> None:
    assert gap(3).contradictions[-1].endswith(f"as much as the reference with {CAUSALITY} broken")
    assert gap(9).contradictions[-1].endswith("something is broken that no finding names")


def test_a_gap_that_is_like_a_fault_which_the_findings_leave_is_no_contradiction() -> None:
    """As on vLLM 0.24.0 with Triton: the window is repaired, and its causality is not."""
    found = gap(3, kept=(WINDOW,))

    assert found.contradictions == ()
    assert f"Broken by the findings, and repaired by nothing here: {CAUSALITY}." in list(sentences(found))
    assert gap(9, kept=(WINDOW,)).contradictions != ()


def test_what_is_left_broken_may_hide_what_a_repair_brings() -> None:
    """As on vLLM 0.24.0 with Triton, micro: the window's repair brings 0.2 where 1.55 were predicted."""
    accepted = {"as-released": 0, "all-repairs": 1, "reference": 14}
    worse = {f"reference-with-{c}-broken": n for c, n in ((WINDOW, 0), (CAUSALITY, 1))}
    variants = [v for v in engine_variants([WINDOW], True, [CAUSALITY]) if v.name in {**accepted, **worse}]
    results = {name: result(name, n) for name, n in {**accepted, **worse}.items()}

    def found(kept: tuple[str, ...]) -> Assessment:
        broken = (WINDOW, CAUSALITY)
        return assess(
            variants, results, place="local", engine="vllm==0", pair="tiny", broken=broken, kept=kept
        )

    assert found((WINDOW,)).contradictions == ()
    assert len(found((WINDOW, CAUSALITY)).contradictions) == 2


def test_an_engine_that_stops_with_its_repairs_has_no_share_of_the_reference() -> None:
    variants = [
        v for v in engine_variants([WINDOW], True) if v.name in ("as-released", "all-repairs", "reference")
    ]
    results = {v.name: result(v.name, 3) for v in variants}
    results["all-repairs"] = VariantResult(variant="all-repairs", status="failed", error="it stopped")

    found = assess(variants, results, place="local", engine="vllm==0", pair="tiny", broken=(WINDOW,))

    assert found.to_reference is None
    assert found.released_to_reference is not None
    assert not [line for line in found.contradictions if "with every repair" in line]


def test_an_engine_without_a_patch_that_is_as_its_finding_predicts_is_no_contradiction() -> None:
    """As on vLLM 0.33.0 beside a target that shares its rotary embedding with the drafter."""
    accepted = {"as-released": 3, "reference": 14, "reference-with-rope-broken": 3}
    variants = [v for v in engine_variants([], True, ["rope"]) if v.name in accepted]
    results = {name: result(name, n) for name, n in accepted.items()}

    def found(broken: tuple[str, ...]) -> Assessment:
        return assess(variants, results, place="local", engine="vllm==0", pair="tiny", broken=broken)

    assert found(("rope",)).contradictions == ()
    assert found(("rope",)).unrepaired == ("rope",)
    assert found(()).contradictions[-1].endswith("as much as the reference with rope broken")


def test_a_gap_that_a_finding_without_a_patch_explains_is_no_contradiction() -> None:
    """As on vLLM 0.24.0 with a padded vocabulary: the head is lost, and only that costs acceptance."""
    table = {"as-released": 0, "all-repairs": 0, "reference": 14}
    broken = (DROP, "head-sharing", "config-coverage")

    found = judged(table, broken, (DROP,))

    assert found.contradictions == ()
    assert "Broken by the findings, and repaired by nothing here: head-sharing." in list(sentences(found))
    assert judged(table, (DROP, "config-coverage"), (DROP,)).contradictions != ()


def test_a_fault_that_nothing_repairs_has_a_prediction_and_no_effect() -> None:
    found = gap(3)

    effects = {e.contract: e for e in found.effects}
    assert (effects[CAUSALITY].alone, effects[CAUSALITY].given_others) == (None, None)
    assert effects[CAUSALITY].predicted is not None
    assert effects[CAUSALITY].predicted.value == pytest.approx(1.1)
    # The only repair is alone and given all others the same.
    assert effects[WINDOW].alone == effects[WINDOW].given_others
    said = "\n".join(sentences(found))
    assert (
        f"{CAUSALITY}: predicted by the reference +1.10 [+1.10, +1.10]: no repair of it was measured." in said
    )


def test_a_predicted_loss_that_the_repair_does_not_bring_back_is_a_contradiction() -> None:
    table = {"as-released": 14, "all-repairs": 14, "reference": 14, f"reference-with-{WINDOW}-broken": 0}
    found = judged(table, (WINDOW,), (WINDOW,)).contradictions
    assert found[0] == (
        f"{WINDOW}: the reference loses 1.40 with this fault, but its repair brings the engine at most 0.00"
    )


def test_a_prediction_contradicts_nothing() -> None:
    variants = reference_variants([OFFSET, WINDOW])
    results = {v.name: result(v.name, 14) for v in variants}
    found = assess(variants, results, place="cpu", engine=None, pair="micro", broken=(OFFSET, WINDOW))
    assert found.contradictions == ()
    assert found.to_reference is None


def test_cache_drop_is_judged_by_prefix_cache_hits() -> None:
    variants = engine_variants([DROP], reference=False)[:2]

    def hits(released: int, repaired: int) -> Assessment:
        results = {
            "as-released": result("as-released", 5, released),
            "all-repairs": result("all-repairs", 5, repaired),
        }
        return assess(variants, results, place="local", engine="vllm==0", pair="p", broken=(DROP,))

    better, same = hits(976, 992), hits(976, 976)
    assert better.effects[0].hits == pytest.approx(0.016)
    assert better.contradictions == ()
    assert (
        "+1.60% of the prompt tokens: no effect on acceptance was seen; what it changes is reuse."
        in "\n".join(sentences(better))
    )
    assert same.contradictions == (
        "cache-drop: the repair brings no prefix-cache hits (+0.0% of the prompt tokens)",
    )


def test_prompts_of_whole_blocks_do_not_put_a_dropped_block_to_the_test() -> None:
    """As on vLLM 0.32.0: a prompt of 256 tokens finds 240 again with the drop and without it."""
    variants = [v for v in engine_variants([DROP], True) if v.name in ("as-released", "all-repairs")]

    def judge(prompt: int, found: int) -> Assessment:
        results = {v.name: result(v.name, 3, hits=20 * found, prompt=prompt) for v in variants}
        return assess(variants, results, place="local", engine="vllm==0", pair="micro", broken=(DROP,))

    whole, part = judge(256, 240), judge(250, 224)
    assert whole.contradictions == ()
    assert any("--prompt-tokens that is no multiple of 16" in line for line in sentences(whole))
    assert part.contradictions != ()
    assert not any("not put to the test" in line for line in sentences(part))


def test_a_variant_that_died_is_said_and_the_rest_is_judged() -> None:
    variants = engine_variants([WINDOW], reference=True)[:3]
    results = {name: result(name, n) for name, n in (("as-released", 0), ("reference", 14))}
    results["all-repairs"] = VariantResult(variant="all-repairs", status="died", error="ended by signal 9")
    found = assess(variants, results, place="local", engine="vllm==0", pair="p", broken=(WINDOW,))
    assert found.released_to_reference is not None
    assert "all-repairs was not measured: died: ended by signal 9." in list(sentences(found))


def test_texts_that_part_are_counted() -> None:
    variants = engine_variants([WINDOW], reference=False)[:2]
    results = {"as-released": result("as-released", 0), "all-repairs": result("all-repairs", 9, texts=17)}
    found = assess(variants, results, place="local", engine="vllm==0", pair="p", broken=(WINDOW,))
    assert found.sameness is not None
    assert found.sameness["all-repairs"].identical == 17
    assert found.sameness["all-repairs"].parted_at == 1
    assert any("at least 17 of 20 stay identical" in said for said in sentences(found))


def test_findings_about_another_drafter_are_said_to_be() -> None:
    variants = engine_variants([], reference=False)[:1]
    found = assess(
        variants, {"as-released": result("as-released", 1)}, place="local", engine="vllm==0", pair="tiny",
        investigated="z-lab/Qwen3.6-27B-DFlash",
    )  # fmt: skip
    assert (
        "The findings are about z-lab/Qwen3.6-27B-DFlash; what was measured is tiny on the same code."
        in list(sentences(found))
    )
