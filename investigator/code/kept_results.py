"""``functools.cache`` and ``lru_cache``: a function whose results are kept."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tree_sitter import Node

from investigator.code.frames import Frame
from investigator.code.heap import lost, spread
from investigator.code.keys import as_key
from investigator.code.values import FunctionValue, Unknown, Value, is_spread

if TYPE_CHECKING:
    from investigator.code.interpreter import Interpreter

_SIZE = re.compile(r"lru_cache\((?:maxsize=)?(\w+)")
_USUAL_SIZE = 128


@dataclass
class KeptResults:
    """What such functions gave so far, by what they were given, the longest unused first."""

    known: dict[int, tuple[FunctionValue, dict[Value, Value]]] = field(default_factory=dict)

    def call(
        self,
        interp: Interpreter,
        frame: Frame,
        node: Node,
        function: FunctionValue,
        args: tuple[Value, ...],
        kwargs: dict[str, Value],
    ) -> Value:
        """``function(*args, **kwargs)``: entered once for each key. Raises Raised(TypeError) for
        what cannot be one."""
        _, kept = self.known.setdefault(id(function), (function, {}))
        size = _size(function)
        loose = next((a for a in (*args, *kwargs) if is_spread(a)), None)
        key = as_key(interp, frame, node, (args, tuple(kwargs.items()))) if loose is None else loose
        if isinstance(key, Unknown) or any(map(is_spread, kept)) or size is None:
            before, because = list(kept.values()), key if isinstance(key, Unknown) else _unsure(frame, node)
            sides = (
                lambda: interp.invoke(frame, node, function, args, kwargs),
                lambda: lost(because, *before),
            )
            value = interp.either(frame, node, sides, because) if before else sides[0]()
            interp.journal.touch(kept)
            kept[spread(because)] = value
            return value
        found = kept[key] if key in kept else interp.invoke(frame, node, function, args, kwargs)
        interp.journal.touch(kept)
        kept.pop(key, None)
        if size > 0:
            kept[key] = found
        if len(kept) > size:
            kept.pop(next(iter(kept)))
        return found


def _unsure(frame: Frame, node: Node) -> Unknown:
    return Unknown("whether a result was kept", frame.module.place(node))


def _size(function: FunctionValue) -> int | None:
    """How many results are kept at most; None where that is not known."""
    written = next((found[1] for mark in function.decorators if (found := _SIZE.search(mark))), None)
    if written is None:
        plain = any(mark.partition("(")[0].rpartition(".")[2] == "lru_cache" for mark in function.decorators)
        return _USUAL_SIZE if plain else 1_000_000
    return 1_000_000 if written == "None" else int(written) if written.isdigit() else None
