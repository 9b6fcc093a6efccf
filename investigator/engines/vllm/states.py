"""Symbols for following hidden states through a target model's forward pass.

``State(n)`` stands for the residual stream after ``n`` decoder layers, so ``State(n)`` is
what Hugging Face calls ``hidden_states[n]`` (``n`` = 0: the embedding output). vLLM's layers
carry the stream as a pair whose sum it is; calling a layer moves the pair on by one.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from investigator.code.values import ClassValue, Symbol, Value

TOKENS = 1013
"""How many tokens every stream holds: one number, so that code which compares the lengths of
two streams finds them equal, as they are without sequence parallelism."""
ELSEWHERE = "PPMissingLayer"
"""What stands in for the layers of another pipeline rank."""
_SAME = frozenset(["clone", "contiguous", "view", "reshape", "to", "float"])


@dataclass(frozen=True)
class Positions(Symbol):
    """The position of each token."""

    def attribute(self, name: str) -> Value:
        """Only the shape is known."""
        return (TOKENS,) if name == "shape" else NotImplemented


@dataclass(frozen=True)
class State(Symbol):
    """The residual stream after ``depth`` layers, or one half of the pair whose sum it is."""

    depth: int

    def binary(self, operator: str, other: Value, *, reflected: bool) -> Value:
        """Adding the other half, or anything else, leaves the depth as it is."""
        if operator != "+":
            return NotImplemented
        return State(max(self.depth, other.depth)) if isinstance(other, State) else self

    def attribute(self, name: str) -> Value:
        """The number of rows; methods that give the same tensor back."""
        if name == "shape":
            return (TOKENS, None)
        return _Same(self) if name in _SAME else NotImplemented

    def unpack(self, count: int) -> Value:
        """``hidden_states, residual = layer(...)``: both halves of one depth."""
        return tuple(self for _ in range(count))

    def item(self, key: Value) -> Value:
        """``layer(...)[0]`` and row slices stay at the depth."""
        return self


@dataclass(frozen=True)
class _Same(Symbol):
    state: State

    def call(self, arguments: tuple[Value, ...], keywords: dict[str, Value]) -> Value:
        """A method that returns the tensor it is called on."""
        return self.state


def _nothing(name: str) -> Value:  # noqa: ARG001
    return NotImplemented


@dataclass(frozen=True)
class Layer(Symbol):
    """A decoder layer: it takes the stream at some depth and gives it one deeper.

    ``settings`` gives its attributes, as its class's ``__init__`` would set them.
    """

    number: int
    settings: Callable[[str], Value] = field(default=_nothing, compare=False)

    def call(self, arguments: tuple[Value, ...], keywords: dict[str, Value]) -> Value:
        """The stream after this layer; not decided when no stream was handed in."""
        depths = [v.depth for v in (*arguments, *keywords.values()) if isinstance(v, State)]
        return State(max(depths) + 1) if depths else NotImplemented

    def attribute(self, name: str) -> Value:
        """A setting of the layer."""
        return self.settings(name)

    def truth(self) -> bool | None:
        """A layer is there."""
        return True

    def instance_of(self, cls: ClassValue) -> bool | None:
        """Which class it is of is not known, except that no other pipeline rank has it."""
        return False if cls.name == ELSEWHERE else None


@dataclass(frozen=True)
class Norm(Symbol):
    """A final norm: keeps whatever state it is handed; a pair comes back as a pair."""

    def call(self, arguments: tuple[Value, ...], keywords: dict[str, Value]) -> Value:
        """The state it was given."""
        states = [v for v in (*arguments, *keywords.values()) if isinstance(v, State)]
        return states[0] if states else NotImplemented


@dataclass(frozen=True)
class LayerStack(Symbol):
    """A decoder layer that ``make_layers`` gives, known by the function that makes it."""

    makes: Value = field(compare=False)
