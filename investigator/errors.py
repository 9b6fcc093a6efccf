"""Every way a command can stop, each with its own exit code and its own advice.

They live together so that the table of exit codes has one home::

    InvestigateError
     +- UsageError            2   the request itself cannot be carried out
     +- IncompleteError       3   an agent failed, or a verdict that was asked for is unknown
     |   +- SourceError           a source could not be reached or read
     |   |   +- OfflineError      it would need the network, and --offline forbids it
     |   |   +- IntegrityError    what arrived is not what the source vouches for
     |   |   +- NotFoundError     the source answered: there is no such thing
     |   +- LimitError            foreign input larger or deeper than docs/security.md allows
     +- PatchError            4   a patch does not apply
     +- ContradictionError    5   a validation contradicts the findings

A message names the input, the reason, and (``advice``) what to do about it.
"""

from enum import IntEnum


class ExitCode(IntEnum):
    """What the process returns; the table in ``--help`` is made from this."""

    CLEAN = 0
    FINDINGS = 1
    USAGE = 2
    INCOMPLETE = 3
    PATCH_FAILED = 4
    CONTRADICTED = 5
    INTERRUPTED = 130


EXIT_CODE_MEANINGS: dict[ExitCode, str] = {
    ExitCode.CLEAN: "nothing at or above --fail-on",
    ExitCode.FINDINGS: "at least one finding at or above --fail-on",
    ExitCode.USAGE: "the command line or an input it names is wrong",
    ExitCode.INCOMPLETE: "an agent failed, or a verdict that was asked for is unknown",
    ExitCode.PATCH_FAILED: "a patch does not apply",
    ExitCode.CONTRADICTED: "the validation contradicts the findings",
    ExitCode.INTERRUPTED: "interrupted; what was found so far is in the run folder",
}


def what_is_wrong(error: Exception) -> str:
    """Why a document is not the one that was expected, from what reading it raised.

    A key that is missing is named as one; Python's own text of it is the bare key.
    """
    match error:
        case KeyError():
            return f"it has no {error}"
        case TypeError() | AttributeError():
            return f"it has another shape ({error})"
        case AssertionError():
            return "it has another shape"
    return str(error)


class InvestigateError(Exception):
    """A failure that a person can act on.

    ``str(error)`` is one line: what was asked for and why it cannot be had.
    ``advice`` is one line: what to do.
    """

    exit_code: ExitCode = ExitCode.INCOMPLETE

    def __init__(self, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.advice = advice


class UsageError(InvestigateError):
    """The request itself cannot be carried out: a bad flag, a bad config, no such release."""

    exit_code = ExitCode.USAGE


class IncompleteError(InvestigateError):
    """Part of the answer is missing; what was found is still reported."""


class SourceError(IncompleteError):
    """A source could not be reached or read."""


class OfflineError(SourceError):
    """The network would be needed and ``--offline`` forbids it."""


class IntegrityError(SourceError):
    """What arrived is not what the source vouches for (hash, size, structure)."""


class NotFoundError(SourceError):
    """The source answered, and it has no such thing."""


class LimitError(IncompleteError):
    """Foreign input is larger, deeper or stranger than ``docs/security.md`` allows."""


class PatchError(InvestigateError):
    """A patch does not apply, or a tree is not what the patch was made for."""

    exit_code = ExitCode.PATCH_FAILED


class ContradictionError(InvestigateError):
    """A validation measured the opposite of what the findings say."""

    exit_code = ExitCode.CONTRADICTED
