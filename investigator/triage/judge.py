"""Is it the drafter or the engine? A pure function of a symptom and the known figures."""

import re
from dataclasses import dataclass
from math import prod

from investigator.triage.collect import draft_tokens, drafts_with_mtp, settings_of
from investigator.triage.confounders import Confounder, find_confounders, interval
from investigator.triage.distances import all_confounders, comparisons, distances, one_confounder
from investigator.triage.figures import Figure, Figures, Range, for_pair, like_setting, published_range
from investigator.triage.shape import SAME_WITHIN, Shape, ShapeReading, read_shapes
from investigator.triage.suspects import suspects_for
from investigator.triage.symptom import Symptom
from investigator.triage.verdict import Answer, Triage

_BLOCK_IN_NAME = re.compile(r"-b(\d{1,3})\Z", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class _View:
    """What the decision looks at. ``left``: share of the lowest published accepted tokens that the
    upper end of the interval keeps, confounders that show taken out; None without a figure."""

    symptom: Symptom
    shapes: tuple[ShapeReading, ...]
    confounders: tuple[Confounder, ...]
    rows: tuple[Figure, ...]
    expected: Range | None
    band: Range | None
    left: float | None
    one: float
    every: float

    @property
    def shape(self) -> Shape:
        return self.shapes[0].shape

    @property
    def length(self) -> float:
        return self.symptom.best.length.value if self.symptom.best else 0.0

    def has(self, name: str) -> bool:
        return any(one.name == name for one in self.confounders)

    def shows(self, shape: Shape) -> bool:
        return any(reading.shape is shape for reading in self.shapes)


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
    view = _View(
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
        for_engine=tuple(_for_engine(view)),
        for_drafter=tuple(_for_drafter(view)),
        next_steps=tuple(_next_steps(view)),
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


def _decide(view: _View) -> tuple[Answer, str]:
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
            f"{_range(view.expected)} needs the positions behind it, so it can fill them."
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
            f"AL {view.length:.2f} is so far below the published {_range(view.expected)} that thinking "
            "mode, language and harder text together would not explain it, nor would the drafter of "
            "another target generation."
        )
    if view.left < view.one:
        return Answer.ENGINE, (
            f"AL {view.length:.2f} against a published {_range(view.expected)}: more is lost than any "
            "single known confounder takes. Two at once could; rule them out with one short run."
        )
    return Answer.EITHER, (
        f"AL {view.length:.2f} against a published {_range(view.expected)}: a loss of this size is what "
        "one unseen confounder, another drafter, or a single broken promise can each give."
    )


def _too_little(view: _View) -> tuple[Answer, str]:
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


def _mixed(view: _View) -> tuple[Answer, str] | None:
    """Where parts of the input are far apart their mean may hide a broken one: no fault can be denied."""
    apart = view.symptom.best.apart if view.symptom.best else None
    if apart is None:
        return None
    return Answer.EITHER, (
        f"AL {view.length:.2f} is a mean of parts that run from {apart[0]:.2f} to {apart[1]:.2f}: one of "
        "several deployments or ranks may be broken. Read them one at a time."
    )


def _healthy(view: _View) -> tuple[Answer, str]:
    if view.shows(Shape.NO_PREFIX_HITS):
        return Answer.NOT_DRAFTER, (
            f"Acceptance is fine (AL {view.length:.2f}), but the prefix cache finds nothing. A drafter has "
            "no say in that; requests that share no prefix would show the same."
        )
    known = (
        f"within 10 % of the published {_range(view.expected)} or above"
        if view.expected
        else "healthy for any drafter"
    )
    return Answer.NO_FAULT, (
        f"AL {view.length:.2f} is {known}. A fault that costs a few per cent would not show; the findings "
        "tell."
    )


def _explained(view: _View) -> tuple[Answer, str]:
    shown = " and ".join(one.name for one in view.confounders if one.kept is not None)
    if not shown:
        return Answer.EITHER, (
            f"AL {view.length:.2f} is below the published {_range(view.expected)}, but so few drafts leave "
            "the published range possible."
        )
    return Answer.NO_FAULT, (
        f"AL {view.length:.2f} against a published {_range(view.expected)} is no less than {shown} would "
        "leave by the figures known. Repeat without, before anybody is blamed."
    )


def _long(view: _View) -> tuple[Answer, str]:
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


def _for_engine(view: _View) -> list[str]:
    found = [f"shape: {r.shape.value}: {r.why}" for r in view.shapes if r.shape in _ENGINE_SHAPES]
    if view.left is not None and view.left < 1:
        found.append(
            f"at most {100 * view.left:.0f} % of the accepted tokens of the lowest published figure are "
            f"left{_without(view)}; the strongest confounder (thinking mode, language, kind of text) leaves "
            f"{100 * view.one:.0f} %"
        )
    if view.shape is Shape.HEALTHY:
        found.append(
            "a fault of a few per cent (target layers one too early: 3 to 6 % of AL) cannot be excluded"
        )
    return found


_ENGINE_SHAPES = (
    Shape.NOTHING,
    Shape.NEAR_RANDOM,
    Shape.CUT_OFF,
    Shape.LONG_CONTEXTS,
    Shape.NO_PREFIX_HITS,
    Shape.DECAYS_EARLY,
)


def _without(view: _View) -> str:
    shown = any(one.kept is not None for one in view.confounders)
    return ", what the confounders that show take not counted" if shown else ""


def _for_drafter(view: _View) -> list[str]:
    found = [
        f"{one.name} shows ({one.seen}): {one.effect}" for one in view.confounders if one.kept is not None
    ]
    if view.expected:
        found.append(
            f"against it: the same drafter reached {_range(view.expected)} elsewhere, so it is able to; "
            "and the drafter of another target generation still kept 67 % of the accepted tokens "
            "(Luce-Org/lucebox#94)"
        )
    elif view.symptom.best is not None and view.symptom.setting("draft") is not None:
        found.append(
            "no published figure for this pair: how good this drafter is at its best is not known here"
        )
    if view.shape is Shape.EVENLY_LOW:
        found.append("every position loses alike, as with a weaker drafter or harder text")
    if view.shape is Shape.LONG_CONTEXTS:
        found.append("drafters trained on short contexts fall off by themselves (z-lab/dflash#66)")
    return found


def _next_steps(view: _View) -> list[str]:
    steps = []
    symptom = view.symptom
    if symptom.setting("draft") is None:
        steps.append("add the command line that started the engine: it names the pair and the flags")
    if symptom.best is None or view.has("few drafts"):
        steps.append("let it draft at least 1,000 times, then save the log or /metrics again")
    if view.has("thinking mode"):
        steps.append("repeat with enable_thinking false: the published figures are without thinking")
    if view.has("random prompts"):
        steps.append("repeat on real prompts (HumanEval or MT-Bench: figures exist for both)")
    if view.shows(Shape.NO_PREFIX_HITS):
        steps.append(
            "send one long prompt twice, with and without the speculative config, and compare the hits"
        )
    if view.shape in (Shape.NEAR_RANDOM, Shape.LONG_CONTEXTS, Shape.CUT_OFF):
        steps.append("repeat with prompts shorter than the drafter's window: window faults vanish there")
    if not view.expected and symptom.best is not None:
        steps.append(
            "run the drafter with its authors' reference code on the same prompts: the AL it can reach"
        )
    if not settings_of(symptom, "version"):
        steps.append("name the engine's version: what it does is read from that release")
    return steps


def _range(values: Range | None) -> str:
    if values is None:
        return "?"
    low, high = values
    return f"{low:.2f}" if f"{low:.2f}" == f"{high:.2f}" else f"{low:.2f} to {high:.2f}"
