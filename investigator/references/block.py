"""How many query tokens one draft has: the block, followed through the reference's draft pass.

The reference's generation loop cuts a block of tokens out of the output, embeds it and hands
it to the draft model as ``noise_embedding``; in the loop's first round nothing but the block
size limits it. The tokens are followed as a :class:`Tokens` that knows only its width.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from investigator.checkpoint import Checkpoint
from investigator.code import lazy
from investigator.code.interpreter import Interpreter
from investigator.code.program import Program
from investigator.code.syntax import descendants, field, named, text
from investigator.code.trace import Happening
from investigator.code.values import FunctionValue, Symbol, Unknown, Value
from investigator.engines.finding import functions
from investigator.engines.interface import Step, Told
from investigator.model import Known, NotKnown
from investigator.references.draft_model import DraftModel, build

BLOCK = "noise_embedding"
PROMPT_TOKENS = 100
NEW_TOKENS = 1000
"""A prompt and a length that leave room for a whole block."""


@dataclass(frozen=True)
class Tokens(Symbol):
    """So many tokens (ids or embeddings) of one sequence; what is done to each keeps the count."""

    width: int

    def attribute(self, name: str) -> Value:
        """``.shape`` is (1, width); any method keeps the count."""
        return (1, self.width) if name == "shape" else PassesThrough(self)

    def binary(self, operator: str, other: Value, *, reflected: bool) -> Value:
        """Scaled or shifted, still as many."""
        return self

    def item(self, key: Value) -> Value:
        """``tokens[:, a:b]``."""
        span = key[1] if isinstance(key, tuple) and len(key) > 1 else None
        if isinstance(span, slice) and all(isinstance(i, int | None) for i in (span.start, span.stop)):
            return Tokens(len(range(self.width)[span.start : span.stop]))
        return NotImplemented


@dataclass(frozen=True)
class PassesThrough(Symbol):
    """A model or method that maps tokens one to one."""

    tokens: Tokens | None = None

    def attribute(self, name: str) -> Value:
        """A part of it is like it."""
        return self

    def call(self, arguments: tuple[Value, ...], keywords: dict[str, Value]) -> Value:
        """As many tokens as came in."""
        given = next((a for a in arguments if isinstance(a, Tokens)), self.tokens)
        return NotImplemented if given is None else given


def query_tokens(program: Program, checkpoint: Checkpoint) -> Told:
    """``Known(n)``: the query tokens that the reference's draft pass is given."""
    built = build(program, checkpoint)
    if isinstance(built, Unknown):
        return Told(outcome=NotKnown(str(built)))
    missing = f"no call of a draft model with {BLOCK} was found"
    for function, call, value in draft_calls(program, built.interp):
        width = _width(built, function, call, value)
        if isinstance(width, Tokens):
            steps = [Step(function.module.place(value), f"the draft pass is given {width.width} tokens")]
            stored = built.interp.trace.last(Happening.STORE, lambda e: e.name.endswith(".block_size"))
            if stored is not None:
                steps.insert(0, Step(stored.place, "the reference reads the block size"))
            return Told(outcome=Known(width.width), steps=tuple(steps))
        missing = f"the draft pass's tokens: {width}"
    return Told(outcome=NotKnown(missing))


def draft_calls(program: Program, interp: Interpreter) -> Iterator[tuple[FunctionValue, Node, Node]]:
    """Calls that hand a block to a draft model: the function, the call, and the block."""
    for module in program.search([f"{BLOCK}="]):
        for function in functions(interp, module):
            for call in descendants(field(function.node, "body"), "call"):
                for argument in named(field(call, "arguments")):
                    if argument.type == "keyword_argument" and text(field(argument, "name")) == BLOCK:
                        yield function, call, field(argument, "value")


def _width(built: DraftModel, function: FunctionValue, call: Node, value: Node) -> Value:
    interp = built.interp
    interp.natives["torch.full"] = lambda interp, args, kwargs: _full(args)
    interp.natives["torch.nn.functional.embedding"] = lambda interp, args, kwargs: args[0]
    return in_first_round(built, function, call, value, target=PassesThrough())


def in_first_round(
    built: DraftModel, function: FunctionValue, call: Node, value: Node, target: Symbol
) -> Value:
    """What an expression of a generating function gives in its loop's first round. ``call`` is
    the call of the draft model in it."""
    given = {"target": target, "input_ids": Tokens(PROMPT_TOKENS), "max_new_tokens": NEW_TOKENS}
    supply = lazy.with_defaults(built.interp, function, lambda name, kind: given.get(name, NotImplemented))
    model = text(field(call, "function"))
    names = {model: built.model} if model.isidentifier() else {}
    return lazy.value_at(built.interp, function, value, built.model, supply, names=names, first_round=True)


def _full(args: tuple[Value, ...]) -> Value:
    size = args[0] if args else None
    if isinstance(size, tuple) and len(size) == 2 and isinstance(size[1], int):
        return Tokens(size[1])
    return Unknown("the length of the output")
