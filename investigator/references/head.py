"""Whose output head turns the draft model's states into logits: followed through the draft pass.

The draft model's call gives :class:`_Hidden`; what a part of the target makes of it is
:class:`_Logits`. The assignments around the call are looked at until one holds logits.
"""

from dataclasses import dataclass

from investigator.checkpoint import Checkpoint
from investigator.code.program import Program
from investigator.code.syntax import descendants, field
from investigator.code.values import Symbol, Unknown, Value
from investigator.engines.interface import Step, Told
from investigator.model import Known, NotKnown
from investigator.references.block import draft_calls, in_first_round
from investigator.references.draft_model import build

TARGET = "target"


@dataclass(frozen=True)
class _Hidden(Symbol):
    """The draft model's states."""

    def item(self, key: Value) -> Value:
        """Some of them."""
        return self


@dataclass(frozen=True)
class _Logits(Symbol):
    """Logits, by the head of ``owner``."""

    owner: str

    def binary(self, operator: str, other: Value, *, reflected: bool) -> Value:
        """Scaled, still logits of the same head."""
        return self

    def attribute(self, name: str) -> Value:
        """A method of them."""
        return NotImplemented


@dataclass(frozen=True)
class _Part(Symbol):
    """The target, or a part of it."""

    def attribute(self, name: str) -> Value:
        """A part of it."""
        return self

    def call(self, arguments: tuple[Value, ...], keywords: dict[str, Value]) -> Value:
        """The target's head on the draft's states gives logits; without arguments, a part."""
        if any(isinstance(a, _Hidden) for a in (*arguments, *keywords.values())):
            return _Logits(TARGET)
        return NotImplemented if arguments or keywords else self

    def truth(self) -> bool | None:
        """It is there."""
        return True


def draft_head(program: Program, checkpoint: Checkpoint) -> Told:
    """``Known("target")``: the draft's logits come from the target's head."""
    built = build(program, checkpoint)
    if isinstance(built, Unknown):
        return Told(outcome=NotKnown(str(built)))
    assert built.model.cls is not None
    built.interp.natives[f"{built.model.cls.name}.forward"] = lambda *_: _Hidden()
    for function, call, _ in draft_calls(program, built.interp):
        for node in descendants(field(function.node, "body"), "assignment"):
            right = node.child_by_field_name("right")
            if right is None or node.end_byte < call.start_byte:
                continue
            value = in_first_round(built, function, call, right, target=_Part())
            if isinstance(value, _Logits):
                step = Step(
                    function.module.place(node), f"the draft's logits come from the {value.owner}'s head"
                )
                return Told(outcome=Known(value.owner), steps=(step,))
    return Told(outcome=NotKnown("no logits of a draft pass were found"))
