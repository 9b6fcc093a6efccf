"""How a command works, whatever it is about: network, cache, jobs, talk."""

from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path


class Verbosity(IntEnum):
    """How much goes to standard error."""

    QUIET = -1
    NORMAL = 0
    VERBOSE = 1


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Options that every command understands.

    ``cache_dir`` None: the user's own. ``jobs``: how many blocking reads may run at once.
    ``color`` None: decide by the terminal.
    """

    offline: bool = False
    cache_dir: Path | None = None
    jobs: int = 8
    verbosity: Verbosity = Verbosity.NORMAL
    color: bool | None = None
