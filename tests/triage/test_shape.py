"""Shapes: figures that were measured, and the edges of each rule."""

import pytest

from investigator.triage.shape import Shape, early_ratio, read_shapes
from investigator.triage.symptom import (
    AcceptanceLength,
    Counters,
    InputKind,
    LengthPoint,
    Measurement,
    PrefixCache,
    Setting,
    Symptom,
)


def symptom(
    *rates: float,
    drafts: int = 1000,
    length: float | None = None,
    cache: PrefixCache | None = None,
    context: tuple[tuple[float, float], ...] = (),
    prefix_caching: str | None = None,
) -> Symptom:
    value = 1 + sum(rates) if length is None else length
    return Symptom(
        measurements=(
            Measurement(
                kind=InputKind.VLLM_LOG,
                first_line=1,
                last_line=1,
                pooled=1,
                counters=Counters(drafts=drafts),
                length=AcceptanceLength(value=value, low=value, high=value, arithmetic="", given_as=""),
                per_position=rates,
            ),
        ),
        prefix_cache=cache,
        by_context=tuple(LengthPoint(context_tokens=c, length=al, weight=1) for c, al in context),
        settings=(Setting(name="prefix-caching", value=prefix_caching, line=1),) if prefix_caching else (),
    )


def shapes(given: Symptom, expected: tuple[float, float] | None = None) -> list[Shape]:
    return [reading.shape for reading in read_shapes(given, expected)]


@pytest.mark.parametrize(
    ("rates", "shape"),
    [
        ((0.160, 0.020, 0, 0, 0), Shape.NEAR_RANDOM),  # the deployment this was made for
        ((0.032, 0, 0, 0, 0, 0, 0), Shape.NEAR_RANDOM),  # windows ignored, tiny pair
        ((0.303, 0.030, 0.002), Shape.NEAR_RANDOM),  # a long-context run without its window
        ((0.0, 0, 0), Shape.NOTHING),
        ((0.75, 0.19, 0.05, 0.01, 0), Shape.DECAYS_EARLY),  # about 25 % after each accepted token
        (
            (0.726, 0.467, 0.240, 0.134, 0.064),
            Shape.EVENLY_LOW,
        ),  # a public log of a sound engine, narrative text
        ((0.613, 0.259, 0.084, 0.034, 0.010, 0.009, 0.001), Shape.EVENLY_LOW),  # offset wrong, micro pair
        (
            (0.860, 0.590, 0.344, 0.162, 0.076, 0.050, 0.036),
            Shape.EVENLY_LOW,
        ),  # reference, micro pair: AL 3.12
    ],
)
def test_measured_rates(rates: tuple[float, ...], shape: Shape) -> None:
    assert shapes(symptom(*rates), (5.0, 6.0)) == [shape]


def test_healthy_is_within_a_tenth_of_the_lowest_published() -> None:
    # 4.00 published: 3 accepted tokens, of which 2.7 will do.
    assert shapes(symptom(0.9, 0.9, 0.9), (4.0, 6.0)) == [Shape.HEALTHY]
    assert shapes(symptom(0.9, 0.9, 0.8), (4.0, 6.0)) == [Shape.EVENLY_LOW]


def test_without_a_figure_the_weakest_published_drafter_is_the_measure() -> None:
    assert shapes(symptom(0.7, 0.5, 0.4, 0.2)) == [Shape.HEALTHY]
    assert shapes(symptom(0.6, 0.4, 0.2, 0.1)) == [Shape.EVENLY_LOW]


def test_cut_off_names_its_position() -> None:
    readings = read_shapes(symptom(0.78, 0.61, 0.50, 0.42, 0.0, 0.0), (5.0, 6.0))
    assert [(r.shape, r.position) for r in readings] == [(Shape.CUT_OFF, 5)]


def test_a_zero_that_few_drafts_explain_is_no_cut_off() -> None:
    # 65 drafts: 0.062 is 4 of them; the next position would have had 2.
    assert Shape.CUT_OFF not in shapes(
        symptom(0.600, 0.385, 0.215, 0.108, 0.062, 0.0, drafts=130), (5.0, 6.0)
    )


def test_a_collapse_that_also_stops_shows_both() -> None:
    assert shapes(symptom(0.340, 0.0, 0.0)) == [Shape.NEAR_RANDOM, Shape.CUT_OFF]


def test_too_few_drafts_are_not_judged() -> None:
    assert shapes(symptom(0.16, 0.02, drafts=99)) == [Shape.CANNOT_TELL]
    assert shapes(symptom(0.16, 0.02, drafts=100)) == [Shape.NEAR_RANDOM]


def test_nothing_measured_cannot_be_told() -> None:
    assert shapes(Symptom()) == [Shape.CANNOT_TELL]


def test_a_low_length_without_positions_cannot_be_placed() -> None:
    assert shapes(symptom(length=2.0), (4.0, 5.0)) == [Shape.CANNOT_TELL]


@pytest.mark.parametrize(
    ("context", "shape"),
    [
        (((800, 5.4), (16_000, 2.6)), Shape.LONG_CONTEXTS),  # 36 % left
        (((800, 5.4), (16_000, 4.5)), Shape.HEALTHY),  # 80 % left: texts differ by that
        (((300, 5.4), (1_500, 2.6)), Shape.HEALTHY),  # no window is as short as that
        (((9_000, 5.4), (16_000, 2.6)), Shape.HEALTHY),  # not twice as long
        (((16_000, 2.6),), Shape.HEALTHY),
    ],
)
def test_long_contexts(context: tuple[tuple[float, float], ...], shape: Shape) -> None:
    assert shapes(symptom(0.8, 0.7, 0.6, 0.5, length=4.5, context=context), (4.0, 6.0)) == [shape]


def cache(hits: int | None, queries: int | None, rate: float | None) -> PrefixCache:
    return PrefixCache(hits=hits, queries=queries, rate=rate, line=1, given_as="")


@pytest.mark.parametrize(
    ("found", "switched", "shown"),
    [
        (cache(0, 442_227, 0.0), None, True),
        (cache(0, 442_227, 0.0), "False", False),
        (cache(0, 900, 0.0), None, False),  # too few tokens asked for
        (cache(5, 442_227, 0.0), None, False),
        (cache(None, None, 0.0), None, False),  # a log prints 0.0 % with prefix caching off, too
        (cache(None, None, 0.0), "True", True),
    ],
)
def test_no_prefix_hits(found: PrefixCache, switched: str | None, shown: bool) -> None:
    given = symptom(0.8, 0.7, 0.6, 0.5, 0.4, cache=found, prefix_caching=switched)
    assert (Shape.NO_PREFIX_HITS in shapes(given)) is shown


def test_early_ratio_is_the_conditional_rate_against_the_first() -> None:
    assert early_ratio((0.8, 0.4, 0.2, 0.1)) == pytest.approx(0.5 / 0.8)
    assert early_ratio((0.8,)) is None
    assert early_ratio((0.8, 0.0)) == 0.0
