"""Find out whether an inference engine keeps the promises a drafter was trained on.

``investigator.investigate(case)`` is the Python interface; ``docs/api.md`` shows it.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from investigator.api import investigate as investigate

__version__ = "1.0.0"


def __getattr__(name: str) -> object:
    """Import the interface when it is first asked for, so that ``--help`` stays fast."""
    if name == "investigate":
        from investigator.api import investigate

        return investigate
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
