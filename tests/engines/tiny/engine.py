"""TinyLLM, as a package outside this project would add it: two questions, one path.

The code under investigation plans taps (``plan_taps``: config -> numbers) and runs a loop
that keeps the stream when its counter meets one of them (``Stack.run``).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from investigator.checkpoint import Checkpoint
from investigator.code.interpreter import Frame, Interpreter
from investigator.code.program import Program
from investigator.code.trace import Happening
from investigator.code.values import (
    BudgetSpent,
    ClassValue,
    FunctionValue,
    Raised,
    Symbol,
    Value,
    find_unknown,
)
from investigator.engines.configs import config_object
from investigator.engines.finding import class_named, functions
from investigator.engines.interface import RunnerChoice, Step, Told
from investigator.engines.registry import EngineKnown
from investigator.model import Known, NotKnown, Refused, Runner

QUESTIONS = (("target-layer-offset", None), ("layer-types", None))


@dataclass(frozen=True)
class Stream(Symbol):
    """The residual stream after so many layers."""

    depth: int


@dataclass(frozen=True)
class Layer(Symbol):
    """Takes the stream one layer deeper."""

    def call(self, arguments: tuple[Value, ...], keywords: dict[str, Value]) -> Value:
        """The stream after this layer."""
        (stream,) = arguments
        return Stream(stream.depth + 1)


class TinyEngine:
    """The engine's side of the contracts, for one tree and one checkpoint."""

    def __init__(self, program: Program, checkpoint: Checkpoint, environment: Mapping[str, str]) -> None:
        self._program, self._checkpoint = program, checkpoint
        self._environment = environment

    def default_runner(self) -> RunnerChoice:
        """There is one path."""
        return RunnerChoice(runner=None, why="one path")

    def ask(self, contract: str, runner: Runner | None) -> Told:
        """One contract's question; strange code is an answer, never an exception."""
        interp = Interpreter(self._program, environment=self._environment)
        try:
            return self._offset(interp) if contract == "target-layer-offset" else self._windows(interp)
        except Raised as raised:
            return Told(outcome=Refused(str(raised)), steps=(Step(raised.stack[-1], "stops with an error"),))
        except BudgetSpent as spent:
            return Told(outcome=NotKnown(str(spent)))

    def _offset(self, interp: Interpreter) -> Told:
        numbers = self._called(interp, "plan_taps", self._config())
        stack = class_named(interp, "Stack", "tinyllm/model.py")
        if stack is None or (missing := find_unknown(numbers)) is not None:
            return Told(outcome=NotKnown("which layers are tapped"))
        made = interp.construct(stack, (), {"taps": numbers}, None)
        layers = self._checkpoint.num_target_layers or 0
        made.attributes["layers"] = [Layer() for _ in range(layers)]
        run = interp.attribute_or_missing(_frame(interp, stack), stack.node, made, "run")
        kept = interp.call(_frame(interp, stack), stack.node, run, (Stream(0),), {})
        if (missing := find_unknown(kept)) is not None:
            return Told(outcome=NotKnown(str(missing)))
        steps = [Step(e.place, f"reads {e.name}") for e in interp.trace.of(Happening.READ)][-1:]
        steps += [Step(e.place, "the stream is kept here") for e in interp.trace.of(Happening.APPEND)][-1:]
        return Told(outcome=Known([stream.depth for stream in kept]), steps=tuple(steps))

    def _windows(self, interp: Interpreter) -> Told:
        found = self._called(interp, "windows", self._config())
        if (missing := find_unknown(found)) is not None:
            return Told(outcome=NotKnown(str(missing)))
        steps = [Step(e.place, f"reads {e.name}") for e in interp.trace.of(Happening.READ)]
        return Told(outcome=Known(found), steps=tuple(steps))

    def _called(self, interp: Interpreter, name: str, argument: Value) -> Value:
        for module in interp.program.mentioning([f"def {name}("], ["tinyllm/config.py"]):
            for function in functions(interp, module):
                if isinstance(function, FunctionValue) and function.name == name:
                    return interp.enter(function, (argument,), {})
        raise AssertionError(name)

    def _config(self) -> Value:
        draft = self._checkpoint.draft
        return config_object(draft.normalised, "draft config", draft.complete)


def _frame(interp: Interpreter, cls: ClassValue) -> Frame:
    return Frame(interp.globals_of(cls.module))


ENGINE = EngineKnown(
    name="tinyllm",
    make=TinyEngine,
    questions=QUESTIONS,
    hints=("tinyllm/config.py", "tinyllm/model.py"),
    first="1.0",
)
