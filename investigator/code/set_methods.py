"""Methods of sets."""

from __future__ import annotations

from typing import Any

from investigator.code import effects
from investigator.code.builtin_call import MethodCall
from investigator.code.heap import lost, spread
from investigator.code.keys import as_key, make_set
from investigator.code.values import (
    Unknown,
    Value,
    is_spread,
)


def set_method(call: MethodCall, owner: set[Any] | frozenset[Any]) -> Value:
    interp, name = call.interp, call.name
    if isinstance(owner, set) and name in ("add", "discard", "remove", "pop", "clear"):
        return _change_set(call, owner)
    others = [call.spread_items(argument) for argument in call.args]
    if isinstance(owner, set) and name == "update":
        interp.journal.touch(owner)
        for items in others:
            owner.update(make_set(interp, call.frame, call.node, items))
        return None
    if name == "copy":
        return interp.journal.born(set(owner)) if isinstance(owner, set) else owner
    sets = [frozenset(make_set(interp, call.frame, call.node, items)) for items in others]
    loose = next((item for each in (owner, *sets) for item in each if is_spread(item)), None)
    if loose is not None and name != "union":
        if isinstance(owner, set) and name.endswith("_update"):
            effects.loosen(interp, owner, loose, *(item for each in sets for item in each))
            return None
        return lost(loose, *owner, *(item for each in sets for item in each))
    if isinstance(owner, set) and name.endswith("_update"):
        interp.journal.touch(owner)
    with interp.host_errors(call.frame, call.node):
        result = getattr(owner, name)(*sets)
    return interp.journal.born(result) if isinstance(result, set) else result


def _change_set(call: MethodCall, owner: set[Any]) -> Value:
    interp, name = call.interp, call.name
    call.between(0 if name in ("pop", "clear") else 1, 0 if name in ("pop", "clear") else 1)
    interp.journal.touch(owner)
    if name == "clear":
        owner.clear()
        return None
    if name == "pop":
        if not owner:
            raise call.fail("KeyError", "pop from an empty set")
        if len(owner) == 1 and not any(map(is_spread, owner)):
            return owner.pop()
        because = call.unknown("which item of a set is popped")
        found = lost(because, *owner)
        effects.loosen(interp, owner, because)
        return found
    given = call.args[0]
    as_member = frozenset(given) if isinstance(given, set) and name != "add" else given  # looked up so
    item = as_key(interp, call.frame, call.node, as_member)
    if name == "add":
        owner.add(spread(item, call.args[0]) if isinstance(item, Unknown) else item)
    elif isinstance(item, Unknown):
        interp.doubts += 1
        effects.loosen(interp, owner, item)
    elif item in owner:
        owner.remove(item)
    elif name == "remove":
        if not any(map(is_spread, owner)):
            raise interp.missing_key(item, call.frame, call.node)
        interp.doubts += 1
    return None
