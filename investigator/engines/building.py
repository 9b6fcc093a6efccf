"""What is seen of a draft model while it is built: reads of its config, what was left alone, its width."""

from collections.abc import Collection, Iterator

from investigator.code.trace import Event, Happening, Trace
from investigator.code.values import Unknown, Value, find_unknown
from investigator.engines.interface import Step, Told
from investigator.model import Known, NotKnown, Refused, Unsupported


def config_reads(trace: Trace, keys: Collection[str]) -> Iterator[Event]:
    """Each place that reads one of these keys of the draft config, once."""
    seen = set()
    for event in trace.of(Happening.READ):
        label, _, key = event.name.rpartition(".")
        if key in keys and label.startswith("draft config") and event.place not in seen:
            seen.add(event.place)
            yield event


def skipped(trace: Trace, attention: str) -> Unknown | None:
    """The last class of the tree that was left alone, of those that make layers or ``attention``."""
    for event in trace.of(Happening.SKIP):
        if "Layer" in event.name or attention in event.name:
            return Unknown(f"{event.name} was not followed", event.place, not_followed=event.name)
    return None


def feature_width(made: Step, expects: Value, hidden: Value, captured: Told) -> Told:
    """What the projection of the target's features expects, and what it is given.

    ``made``: where it is made. ``hidden``: the target's hidden size. ``captured``: the streams that
    the target hands over.
    """
    if isinstance(captured.outcome, Refused | Unsupported):
        return captured
    if isinstance(captured.outcome, NotKnown):
        reason = captured.outcome.reason
        return Told(outcome=NotKnown(f"how many streams are captured: {reason}"), steps=(made,))
    streams = captured.outcome.value
    assert isinstance(streams, list)
    if not isinstance(expects, int) or not isinstance(hidden, int):
        missing = find_unknown(expects) or find_unknown(hidden) or f"{expects!r} of {hidden!r}"
        return Told(outcome=NotKnown(f"the width: {missing}"), steps=(made,))
    given = len(streams) * hidden
    return Told(outcome=Known({"expects": expects, "given": given}), steps=(made, *captured.steps[-1:]))
