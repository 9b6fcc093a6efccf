"""Asking with as little as possible, then with what turned out to matter."""

from collections.abc import Callable
from typing import TypeVar

from investigator.code.values import Unknown

T = TypeVar("T")
MAX_ROUNDS = 12


def deepen(ask: Callable[[frozenset[str]], T], missing: Callable[[T], Unknown | None]) -> T:
    """Ask with nothing extra followed; while the answer rests on a callee that was left
    alone, ask again with that callee followed. Ends when nothing new turns up."""
    follow: frozenset[str] = frozenset()
    answer = ask(follow)
    for _ in range(MAX_ROUNDS):
        unknown = missing(answer)
        if unknown is None or unknown.not_followed is None or unknown.not_followed in follow:
            break
        follow = follow | {unknown.not_followed}
        answer = ask(follow)
    return answer
