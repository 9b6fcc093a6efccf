"""What any number of rounds of a loop may have made."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from investigator.code.heap import (
    Container,
    _merged_order,
    join_contents,
    may_be_absent,
    roots,
    same,
    spread,
    which,
    without_absent,
)
from investigator.code.values import (
    ABSENT,
    OneOf,
    Unknown,
    Value,
    is_spread,
)


@dataclass(frozen=True)
class Widening:
    """Covers two values with one that does not grow for ever.

    ``is_new``: whether an object was made in a round of the loop itself. Such an object is
    another one in every round, so nothing that is known about it outlives the loop, and an
    unknown value need not say that it may be it.
    """

    because: Unknown
    is_new: Callable[[Value], bool]

    def value(self, here: Value, there: Value) -> Value:
        """A value that covers both; ``here`` itself when it does."""
        if self.covers(here, there):
            return here
        because = self.because
        if here is ABSENT or there is ABSENT:
            known = there if here is ABSENT else here
            rest = without_absent(known)
            rest = rest if isinstance(rest, Unknown) else self._lost(rest)
            return OneOf((rest, ABSENT), because.place, because)
        wide = self._lost(here, there)
        if may_be_absent(here) or may_be_absent(there):
            return OneOf((wide, ABSENT), because.place, because)
        return wide

    def _lost(self, *values: Value) -> Unknown:
        hides = tuple(root for root in roots(*values) if not self.is_new(root))
        return Unknown(self.because.reason, self.because.place, self.because.not_followed, hides=hides)

    def covers(self, here: Value, there: Value) -> bool:
        """Whether ``here`` stands for everything that ``there`` stands for."""
        if same(here, there):
            return True
        if isinstance(there, OneOf):
            return all(self.covers(here, option) for option in there.options)
        if isinstance(here, OneOf):
            return any(self.covers(option, there) for option in here.options)
        if here is ABSENT or there is ABSENT or not isinstance(here, Unknown) or here.truth is not None:
            return False
        hidden = set(map(which, here.hides))
        return all(which(root) in hidden or self.is_new(root) for root in roots(there))

    def contents(self, here: Container, there: Container) -> Container:
        """The content that covers both contents of a container; ``here`` itself when it does."""
        if isinstance(here, dict) and isinstance(there, dict):
            return self._dicts(here, there)
        if isinstance(here, list) and isinstance(there, list):
            return self._lists(here, there)
        joined = join_contents(here, there, self.because)
        if isinstance(here, set) and isinstance(joined, set):
            known = {item for item in here if not is_spread(item)}
            still = {item for item in joined if not is_spread(item)}
            loose = [item for item in here if is_spread(item)]
            if known == still and loose and all(self.covers(loose[0], item) for item in joined - known):
                return here
        return joined

    def _dicts(self, here: dict[Any, Any], there: dict[Any, Any]) -> dict[Any, Any]:
        keys = _merged_order(list(here), list(there))
        if keys is not None and not any(is_spread(key) for key in keys):
            wide = {key: self.value(here.get(key, ABSENT), there.get(key, ABSENT)) for key in keys}
            unchanged = len(wide) == len(here) and all(wide[key] is here[key] for key in here)
            return here if unchanged else wide
        # Keys that are not all known: one loose key stands for everything.
        loose = [key for key in here if is_spread(key)]
        everything = [*there, *there.values(), *here, *here.values()]
        if len(here) == 1 and loose and all(self.covers(here[loose[0]], value) for value in everything):
            return here
        value = self._lost(*everything)
        return {spread(self.because, value): value}

    def _lists(self, here: list[Any], there: list[Any]) -> list[Any]:
        if len(here) == len(there) and not any(is_spread(item) for item in (*here, *there)):
            wide = [self.value(a, b) for a, b in zip(here, there, strict=True)]
            return here if all(a is b for a, b in zip(wide, here, strict=True)) else wide
        common = 0
        while common < min(len(here), len(there)) and not is_spread(here[common]):
            if not self.covers(here[common], there[common]):
                break
            common += 1
        left, right = here[common:], there[common:]
        if len(left) == 1 and is_spread(left[0]) and all(self.covers(left[0], item) for item in right):
            return here
        return [*here[:common], spread(self._lost(*left, *right))]
