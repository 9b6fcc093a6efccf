"""The Python interface: one function, the objects of the model, no printing."""

from investigator.case import Case
from investigator.conduct import conduct
from investigator.errors import IncompleteError
from investigator.events import EventSink, ignore
from investigator.model import Investigation
from investigator.run import DEADLINE
from investigator.settings import Settings


def investigate(
    case: Case, settings: Settings | None = None, *, sink: EventSink = ignore, deadline: float = DEADLINE
) -> Investigation:
    """Investigate one case; blocking, writes nothing but the cache.

    ``sink`` is told what happens as it happens, from several threads. ``deadline`` is in
    seconds, for each agent; one that fails or is late leaves its answers unknown. Raises
    UsageError for a case that cannot be investigated, EvidenceError when a quote does not
    stand in its source, IncompleteError when an interrupt (SIGINT) cut it short.
    """
    from investigator.team import assemble, pinned

    how = settings or Settings()
    case = pinned(case, how, sink)
    with assemble(case, how, sink) as assembly:
        done = conduct(case, assembly, sink=sink, deadline=deadline, jobs=how.jobs)
    if done.interrupted:
        raise IncompleteError("interrupted", "run it again; what was fetched is kept")
    return done.investigation
