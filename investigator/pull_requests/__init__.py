"""Pull requests understood by what they change: fitted to an engine in memory, and asked again."""

from investigator.pull_requests.commands import apply_diff, install_from_head
from investigator.pull_requests.effect import Change, Effect, effect_of
from investigator.pull_requests.fit import Conflict, Fit, fit_diff
from investigator.pull_requests.plan import Candidate, Plan, plan
from investigator.pull_requests.study import Study, study

__all__ = [
    "Candidate",
    "Change",
    "Conflict",
    "Effect",
    "Fit",
    "Plan",
    "Study",
    "apply_diff",
    "effect_of",
    "fit_diff",
    "install_from_head",
    "plan",
    "study",
]
