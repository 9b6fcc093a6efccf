"""What speaks for the engine, what for the drafter, and what would tell more."""

from investigator.triage.collect import settings_of
from investigator.triage.shape import Shape
from investigator.triage.view import View

_ENGINE_SHAPES = (
    Shape.NOTHING,
    Shape.NEAR_RANDOM,
    Shape.CUT_OFF,
    Shape.LONG_CONTEXTS,
    Shape.NO_PREFIX_HITS,
    Shape.DECAYS_EARLY,
)


def for_engine(view: View) -> list[str]:
    """What speaks for a fault of the engine."""
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


def _without(view: View) -> str:
    shown = any(one.kept is not None for one in view.confounders)
    return ", what the confounders that show take not counted" if shown else ""


def for_drafter(view: View) -> list[str]:
    """What speaks for the drafter or its circumstances, and what against."""
    found = [
        f"{one.name} shows ({one.seen}): {one.effect}" for one in view.confounders if one.kept is not None
    ]
    if view.expected:
        found.append(
            f"against it: the same drafter reached {view.published} elsewhere, so it is able to; "
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


def next_steps(view: View) -> list[str]:
    """What would tell more, the most telling first."""
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
