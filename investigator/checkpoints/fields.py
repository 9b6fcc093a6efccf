"""Read single fields of a config, and say plainly what is wrong with one."""

from collections.abc import Mapping, Sequence

from investigator.errors import LimitError, UsageError
from investigator.model import Json

MAX_LAYERS = 1024
MAX_TAPS = 256

_FIX = "correct the file, or name another checkpoint with --draft"


class Fields:
    """A config's keys with typed access; every error names the file and the key."""

    def __init__(self, values: Mapping[str, Json], name: str, prefix: str = "") -> None:
        self.values = values
        self.name = name
        self._prefix = prefix

    def __contains__(self, key: str) -> bool:
        return self.values.get(key) is not None

    def bad(self, key: str, wrong: str) -> UsageError:
        """The error for ``key``: what it is and what it should have been."""
        return UsageError(f"{self.name}: {self._prefix}{key} {wrong}", _FIX)

    def section(self, key: str) -> "Fields":
        """A nested object; empty when missing or null."""
        value = self.values.get(key)
        if value is None:
            value = {}
        if not isinstance(value, Mapping):
            raise self.bad(key, f"is {describe(value)}, not an object")
        return Fields(value, self.name, f"{self._prefix}{key}.")

    def integer(self, key: str, *, least: int, most: int | None = None) -> int | None:
        """A whole number of at least ``least``; None when missing or null."""
        value = self.values.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.bad(key, f"is {describe(value)}, not a whole number")
        if value < least:
            raise self.bad(key, f"is {value}; it must be at least {least}")
        if most is not None and value > most:
            raise LimitError(f"{self.name}: {self._prefix}{key} is {value}; at most {most} is read", _FIX)
        return value

    def flag(self, key: str) -> bool | None:
        """True or false; None when missing or null."""
        value = self.values.get(key)
        if value is not None and not isinstance(value, bool):
            raise self.bad(key, f"is {describe(value)}, not true or false")
        return value

    def strings(self, key: str) -> tuple[str, ...] | None:
        """A list of strings; None when missing or null."""
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, list):
            raise self.bad(key, f"is {describe(value)}, not a list")
        for index, item in enumerate(value):
            if not isinstance(item, str):
                raise self.bad(key, f"holds {describe(item)} at position {index}, not a string")
        return tuple(value)

    def layer_ids(self, key: str) -> tuple[int, ...] | None:
        """A list of layer ids, each a whole number of at least 0; None when missing or null."""
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, list):
            raise self.bad(key, f"is {describe(value)}, not a list of layer ids")
        if not value:
            raise self.bad(key, "is empty: the drafter reads at least one layer of its target")
        if len(value) > MAX_TAPS:
            raise LimitError(f"{self.name}: {self._prefix}{key} names {len(value)} layers", _FIX)
        ids: list[int] = []
        for index, item in enumerate(value):
            if isinstance(item, bool) or not isinstance(item, int):
                raise self.bad(key, f"holds {describe(item)} at position {index}, not a layer id")
            if item < 0:
                raise self.bad(key, f"holds {item}; layers count from 0")
            ids.append(item)
        return tuple(ids)

    def within(self, key: str, ids: Sequence[int], most: int, layers: int) -> None:
        """Raise unless every id is at most ``most``, for a target of ``layers`` layers."""
        if beyond := [i for i in ids if i > most]:
            raise self.bad(key, f"holds {beyond[0]}, beyond a target of {layers} layers (at most {most})")


def describe(value: Json) -> str:
    """A foreign value in an error text: its kind, and itself when it is short."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return f"the string {value[:40]!r}" + ("…" if len(value) > 40 else "")
        case int() | float():
            return f"the number {value}"
        case Mapping():
            return "an object"
        case _:
            return "a list"
