"""Symbols for following the residual stream through an SGLang model's forward pass.

A decoder layer hands on two halves: its own contribution (``delta``) and the stream as it was
before (``base``); their sum is the stream. ``Stream(n, WHOLE)`` is the residual stream after
``n`` decoder layers, what Hugging Face calls ``hidden_states[n]`` (``n`` = 0: the embedding
output). A half, or a normed stream, is no hidden state that a drafter was trained on.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from investigator.code.values import ABSENT, Symbol, Unknown, Value

TOKENS = 1013
"""How many tokens every stream holds: one number, so that lengths compare equal."""
_SAME = frozenset(["clone", "contiguous", "view", "reshape", "to", "float", "detach", "flatten"])
_NEVER = frozenset(["_sglang_needs_allreduce_fusion"])
"""Marks that tensor parallelism alone puts on a tensor."""


class Share(StrEnum):
    """What part of the stream a tensor is. ``output``: what a layer returns, both halves or the
    whole, as its caller takes it. ``inside``: past some of a layer's own modules."""

    WHOLE = "whole"
    DELTA = "delta"
    BASE = "base"
    NORMED = "normed"
    INSIDE = "inside"
    OUTPUT = "output"


@dataclass(frozen=True)
class Stream(Symbol):
    """The residual stream after ``depth`` layers, or a part of it.

    ``beside``: handed on beside a batch that carries the stream; it may be the whole as well.
    """

    depth: int
    share: Share = Share.WHOLE
    beside: bool = field(default=False, compare=False)

    @property
    def whole(self) -> bool:
        """Whether this is the stream itself."""
        return self.share in (Share.WHOLE, Share.OUTPUT)

    def binary(self, operator: str, other: Value, *, reflected: bool) -> Value:
        """The two halves add up to the stream; anything else is not followed."""
        if not isinstance(other, Stream) or operator != "+" or other.depth != self.depth:
            return NotImplemented
        halves = {self.share, other.share} == {Share.DELTA, Share.BASE}
        return Stream(self.depth) if halves else NotImplemented

    def attribute(self, name: str) -> Value:
        """The number of rows; methods that give the same tensor back."""
        if name == "shape":
            return (TOKENS, None)
        if name in _NEVER:
            return ABSENT
        return Does(lambda *_: self) if name in _SAME else NotImplemented

    def unpack(self, count: int) -> Value:
        """``hidden_states, residual = layer(...)``; ``hidden_states, more = layer(...)`` where the batch
        carries the stream."""
        beside = Unknown("what a layer hands on beside the stream")
        if self.share is Share.OUTPUT:
            halves = (Stream(self.depth, Share.DELTA), Stream(self.depth, Share.BASE))
            return (*halves, *(beside for _ in range(count - 2)))
        if self.share is Share.DELTA:
            return (self, *(beside for _ in range(count - 1)))
        if self.share is Share.WHOLE and count == 2:
            return (Stream(self.depth, Share.NORMED), self)
        return NotImplemented

    def item(self, key: Value) -> Value:
        """``layer(...)[0]`` and row slices."""
        return self


Action = Callable[[tuple[Value, ...], dict[str, Value]], Value]


@dataclass(frozen=True)
class Does(Symbol):
    """A callable with a given meaning."""

    action: Action = field(compare=False)

    def call(self, arguments: tuple[Value, ...], keywords: dict[str, Value]) -> Value:
        """What it means."""
        return self.action(arguments, keywords)


def streams(arguments: tuple[Value, ...], keywords: dict[str, Value]) -> list[Stream]:
    """The streams among a call's arguments, in order."""
    return [value for value in (*arguments, *keywords.values()) if isinstance(value, Stream)]


def normed(arguments: tuple[Value, ...], keywords: dict[str, Value]) -> Value:
    """A norm: of the stream alone; or of its two halves, which it adds first and hands back."""
    found = streams(arguments, keywords)
    if len(found) == 1 and found[0].whole:
        return Stream(found[0].depth, Share.NORMED)
    if len(found) >= 2:
        total = found[0].binary("+", found[1], reflected=False)
        if isinstance(total, Stream):
            return (Stream(total.depth, Share.NORMED), total)
    return NotImplemented


class Norm(Symbol):
    """A normalisation module; every method of it norms."""

    def call(self, arguments: tuple[Value, ...], keywords: dict[str, Value]) -> Value:
        """The normed stream."""
        return normed(arguments, keywords)

    def attribute(self, name: str) -> Value:
        """A fused form of the same."""
        return Does(normed) if name.startswith("forward") else NotImplemented


@dataclass
class LastNorm(Norm):
    """The norm behind a model's last layer. ``adds``: it was handed the stream in two halves."""

    adds: bool = False

    def call(self, arguments: tuple[Value, ...], keywords: dict[str, Value]) -> Value:
        """The normed stream."""
        self.adds = self.adds or {s.share for s in streams(arguments, keywords)} == {Share.DELTA, Share.BASE}
        return normed(arguments, keywords)

    def attribute(self, name: str) -> Value:
        """A fused form of the same."""
        return Does(self.call) if name.startswith("forward") else NotImplemented


@dataclass(frozen=True)
class Part(Symbol):
    """A layer's own module (attention, MLP): what comes out of it is inside the layer."""

    def call(self, arguments: tuple[Value, ...], keywords: dict[str, Value]) -> Value:
        """Its output."""
        found = streams(arguments, keywords)
        return Stream(found[0].depth, Share.INSIDE) if found else NotImplemented

    def attribute(self, name: str) -> Value:
        """Any method of it computes like it; what else it keeps is not known."""
        return self

    def unpack(self, count: int) -> Value:
        """Several results."""
        return tuple(self for _ in range(count))

    def binary(self, operator: str, other: Value, *, reflected: bool) -> Value:
        """Still inside."""
        return self

    def item(self, key: Value) -> Value:
        """Still inside."""
        return self


@dataclass(frozen=True)
class Passage(Symbol):
    """What stands between a layer's modules: on one GPU it moves, norms and adds the stream and
    leaves it at its depth."""

    def attribute(self, name: str) -> Value:
        """A part of it is like it."""
        return self

    def call(self, arguments: tuple[Value, ...], keywords: dict[str, Value]) -> Value:
        """The one stream it is handed; of two halves the normed stream and the stream."""
        found = streams(arguments, keywords)
        if len(found) == 1:
            return found[0]
        return normed(arguments, keywords) if found else self

    def item(self, key: Value) -> Value:
        """A part of it is like it."""
        return self
