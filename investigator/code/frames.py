"""A running function: its scope, and what it was called on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from investigator.code.program import Module
from investigator.code.values import FunctionValue, Scope, Value


@dataclass
class Frame:
    """One running function, or the evaluation of a module's or class's top level."""

    scope: Scope
    function: FunctionValue | None = None
    receiver: Value = None
    yielded: list[Value] = field(default_factory=list)
    """What a generator has yielded so far."""
    on_yield: Callable[[Value], None] | None = None
    """What is done where a generator yields, when it is run as a context."""

    @property
    def module(self) -> Module:
        """The file whose text is being interpreted."""
        return self.scope.module

    @property
    def on_demand(self) -> bool:
        """Whether its variables are worked out backwards (see ``lazy``): objects made here
        are worked out on demand as well."""
        return self.scope.on_demand is not None and self.function is not None
