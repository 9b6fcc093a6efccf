"""Is it the drafter or the engine? A pure function of a symptom and the known figures."""

import re
from math import prod

from investigator.triage.arguments import for_drafter, for_engine, next_steps
from investigator.triage.collect import draft_tokens, drafts_with_mtp, settings_of
from investigator.triage.confounders import find_confounders, interval
from investigator.triage.distances import all_confounders, comparisons, distances, one_confounder
from investigator.triage.figures import Figure, Figures, for_pair, like_setting, published_range
from investigator.triage.shape import SAME_WITHIN, Shape, ShapeReading, read_shapes
from investigator.triage.suspects import suspects_for
from investigator.triage.symptom import Symptom
from investigator.triage.verdict import Answer, Triage
from investigator.triage.view import View

_BLOCK_IN_NAME = re.compile(r"-b(\d{1,3})\Z", re.IGNORECASE)


def judge(symptom: Symptom, figures: Figures, *, block_size: int | None = None) -> Triage:
    """Read the symptom against what is known.

    ``block_size``: the drafter's own block size, where the checkpoint is at hand; else it is
    taken from the drafter's name (``-b16``) or from the published runs of the pair.
    """
    if drafts_with_mtp(symptom):
        return _of_mtp(symptom)
    draft, target = symptom.setting("draft"), symptom.setting("target")
    tokens = draft_tokens(symptom) or len(symptom.per_position) or None
    pair = for_pair(figures, draft, target)
    data = symptom.setting("dataset-path") or symptom.setting("dataset")
    rows = like_setting(pair, data)
    expected = published_range(rows, tokens)
    shapes = read_shapes(symptom, expected)
    confounders = find_confounders(symptom, figures, block_size or _block_size(draft, pair))
    band = interval(symptom.best, symptom.per_position) if symptom.best else None
    covered = len({row.setting for row in rows if row.length}) > 1
    shown = prod(one.kept for one in confounders if one.kept is not None)
    view = View(
        symptom=symptom,
        shapes=shapes,
        confounders=confounders,
        rows=pair,
        expected=expected,
        band=band,
        left=(band[1] - 1) / (expected[0] - 1) / shown if band and expected else None,
        one=one_confounder(figures),
        every=all_confounders(figures, texts_covered=covered),
    )
    answer, headline = _decide(view)
    return Triage(
        answer=answer,
        headline=headline,
        for_engine=tuple(for_engine(view)),
        for_drafter=tuple(for_drafter(view)),
        next_steps=tuple(next_steps(view)),
        symptom=symptom,
        interval=band,
        expected=expected,
        shapes=shapes,
        comparisons=comparisons(rows, view.length, tokens) if symptom.best else (),
        distances=(distances(figures, expected, view.length, texts_covered=covered) if symptom.best else ()),
        suspects=suspects_for(symptom, shapes),
        confounders=confounders,
    )


def _of_mtp(symptom: Symptom) -> Triage:
    """What can be said of MTP layers: every figure and shape known here is of drafters of whole blocks."""
    tokens = draft_tokens(symptom) or len(symptom.per_position) or None
    most = f" of at most {tokens + 1}" if tokens else ""
    why = "no figures of MTP layers are known here"
    seen = f"AL {symptom.best.length.value:.2f}{most}" if symptom.best else "The model drafts with MTP layers"
    steps = ["look at what the engine does with them: investigate run --symptom, or --method mtp"]
    if not settings_of(symptom, "version"):
        steps.append("name the engine's version: what it does is read from that release")
    return Triage(
        answer=Answer.UNKNOWN,
        headline=f"{seen}, and {why}.",
        for_engine=(),
        for_drafter=(),
        next_steps=tuple(steps),
        symptom=symptom,
        interval=interval(symptom.best, symptom.per_position) if symptom.best else None,
        expected=None,
        shapes=(ShapeReading(shape=Shape.CANNOT_TELL, why=why),),
        comparisons=(),
        distances=(),
        suspects=(),
        confounders=(),
    )


def _block_size(draft: str | None, pair: tuple[Figure, ...]) -> int | None:
    if draft and (match := _BLOCK_IN_NAME.search(draft.rstrip("/"))):
        return int(match[1])
    drafted = [row.draft_tokens for row in pair if row.draft_tokens]
    return max(drafted) + 1 if drafted else None


def _decide(view: View) -> tuple[Answer, str]:
    if view.symptom.best is None or view.shape is Shape.CANNOT_TELL or view.has("random prompts"):
        return _too_little(view)
    if view.shape is Shape.HEALTHY:
        return _mixed(view) or _healthy(view)
    if view.shape is Shape.CUT_OFF and view.has("limited draft tokens"):
        return (
            Answer.EITHER,
            "Drafts were shorter than the positions counted, which alone can cut the list off.",
        )
    if view.shape is Shape.LONG_CONTEXTS:
        return _long(view)
    if view.left is not None and view.left >= SAME_WITHIN:
        return _mixed(view) or _explained(view)
    if view.shape is Shape.CUT_OFF and view.expected:
        return Answer.ENGINE, (
            f"Acceptance stops at position {view.shapes[0].position}. This drafter's published "
            f"{view.published} needs the positions behind it, so it can fill them."
        )
    if view.left is None:
        named = view.symptom.setting("draft") is not None
        lack = "no figure is published for this pair" if named else "the input does not name the drafter"
        return Answer.EITHER, (
            f"AL {view.length:.2f} is low, but {lack}: an engine that breaks "
            "a promise and a drafter that was never good look the same from here."
        )
    if view.left < view.every:
        return Answer.ENGINE, (
            f"AL {view.length:.2f} is so far below the published {view.published} that thinking "
            "mode, language and harder text together would not explain it, nor would the drafter of "
            "another target generation."
        )
    if view.left < view.one:
        return Answer.ENGINE, (
            f"AL {view.length:.2f} against a published {view.published}: more is lost than any "
            "single known confounder takes. Two at once could; rule them out with one short run."
        )
    return Answer.EITHER, (
        f"AL {view.length:.2f} against a published {view.published}: a loss of this size is what "
        "one unseen confounder, another drafter, or a single broken promise can each give."
    )


def _too_little(view: View) -> tuple[Answer, str]:
    if view.shows(Shape.NO_PREFIX_HITS):
        return (
            Answer.NOT_DRAFTER,
            "The prefix cache finds nothing, and a drafter has no say in that; acceptance: see below.",
        )
    if view.has("random prompts"):
        return (
            Answer.UNKNOWN,
            "The prompts are random tokens, on which no drafter and no engine can be judged.",
        )
    if view.symptom.best is None and view.symptom.recognised:
        return Answer.UNKNOWN, "The input names a deployment but shows no acceptance figures."
    if view.symptom.best is None:
        return Answer.UNKNOWN, "Nothing in the input is a format that this program reads."
    return Answer.UNKNOWN, f"{view.shapes[0].why[0].upper()}{view.shapes[0].why[1:]}."


def _mixed(view: View) -> tuple[Answer, str] | None:
    """Where parts of the input are far apart their mean may hide a broken one: no fault can be denied."""
    apart = view.symptom.best.apart if view.symptom.best else None
    if apart is None:
        return None
    return Answer.EITHER, (
        f"AL {view.length:.2f} is a mean of parts that run from {apart[0]:.2f} to {apart[1]:.2f}: one of "
        "several deployments or ranks may be broken. Read them one at a time."
    )


def _healthy(view: View) -> tuple[Answer, str]:
    if view.shows(Shape.NO_PREFIX_HITS):
        return Answer.NOT_DRAFTER, (
            f"Acceptance is fine (AL {view.length:.2f}), but the prefix cache finds nothing. A drafter has "
            "no say in that; requests that share no prefix would show the same."
        )
    known = (
        f"within 10 % of the published {view.published} or above"
        if view.expected
        else "healthy for any drafter"
    )
    return Answer.NO_FAULT, (
        f"AL {view.length:.2f} is {known}. A fault that costs a few per cent would not show; the findings "
        "tell."
    )


def _explained(view: View) -> tuple[Answer, str]:
    shown = " and ".join(one.name for one in view.confounders if one.kept is not None)
    if not shown:
        return Answer.EITHER, (
            f"AL {view.length:.2f} is below the published {view.published}, but so few drafts leave "
            "the published range possible."
        )
    return Answer.NO_FAULT, (
        f"AL {view.length:.2f} against a published {view.published} is no less than {shown} would "
        "leave by the figures known. Repeat without, before anybody is blamed."
    )


def _long(view: View) -> tuple[Answer, str]:
    long = view.symptom.by_context[-1]
    there = [
        row.length[0]
        for row in view.rows
        if row.length and row.context_tokens and row.context_tokens >= long.context_tokens / 2
    ]
    if there and long.length < min(there):
        return Answer.ENGINE, (
            f"Acceptance falls with context, to AL {long.length:.2f}, where this pair was measured at "
            f"{min(there):.2f} or more: the drafter can do it."
        )
    return Answer.EITHER, (
        "Acceptance falls with context. A window that the engine ignores does that, and so does a drafter "
        "that was trained on short contexts only; the drafter's layer_types tell which promise was made."
    )
