"""What an explanation is: of a contract, and of a config key."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """One contract, for a reader who meets it first in a report.

    ``promise``: one sentence. ``matters``: why, in a few. ``drawing``: a small picture in plain
    characters, at most 76 columns wide. ``breaks``, ``see``, ``repair``: how engines break it, how
    to see it, what to do, one point each. ``keys``: the config keys that it rests on.
    """

    contract: str
    promise: str
    matters: str
    drawing: str
    breaks: tuple[str, ...]
    see: tuple[str, ...]
    repair: tuple[str, ...]
    keys: tuple[str, ...] = ()
    seen_in: str = ""


@dataclass(frozen=True, kw_only=True)
class KeyExplanation:
    """One key of a drafter's config.

    ``other_names``: the same thing in other layouts. ``readers``: who reads it, and in which
    releases, one point each. ``contracts``: ids of the promises that rest on it.
    """

    key: str
    meaning: str
    readers: tuple[str, ...]
    contracts: tuple[str, ...] = ()
    other_names: tuple[str, ...] = ()
