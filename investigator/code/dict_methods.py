"""Methods of dicts."""

from __future__ import annotations

from typing import Any

from investigator.code import effects
from investigator.code.builtin_call import MethodCall
from investigator.code.heap import join_values, lost, may_be_absent, spread, without_absent
from investigator.code.iteration import iterate
from investigator.code.keys import as_key, entry, merge, set_entry, unknown_entry
from investigator.code.mappings import entries_of
from investigator.code.trace import Happening
from investigator.code.values import (
    ABSENT,
    OneOf,
    TracedDict,
    Unknown,
    Value,
    View,
    find_unknown,
    is_spread,
)

_MISSING = object()


def dict_method(call: MethodCall, owner: dict[Any, Any]) -> Value:
    interp, name = call.interp, call.name
    if name in ("items", "keys", "values"):
        call.between(0, 0)
        return View(owner, name)
    if name == "copy":
        return interp.journal.born(dict(owner))
    if name == "clear":
        interp.journal.touch(owner)
        owner.clear()
        return None
    if name == "popitem":
        return _pop_item(call, owner)
    if name == "update":
        return _update(call, owner)
    call.between(1, 2)
    key = call.args[0]
    if name == "pop" and not owner and len(call.args) == 2:
        return call.args[1]  # Python does not even look at the key
    if isinstance(key, OneOf):

        def with_key(option: Value) -> Value:
            return dict_method(call.with_args(option, *call.args[1:]), owner)

        return interp.over(call.frame, call.node, key, with_key)
    known = as_key(interp, call.frame, call.node, key)
    if isinstance(known, Unknown):
        return _under_unknown_key(call, owner, known)
    return _under_key(call, owner, known)


def _under_key(call: MethodCall, owner: dict[Any, Any], key: Value) -> Value:
    interp, name = call.interp, call.name
    if isinstance(owner, TracedDict):
        found = owner.get(key)
        interp.note(Happening.READ, f"{owner.label}.{key}", found, call.frame, call.node)
    value = entry(owner, key)
    surely_there = not may_be_absent(value)
    default = call.at(1, None if name != "pop" else _MISSING)
    if not surely_there:
        rest = without_absent(value)
        if default is _MISSING:
            if rest is ABSENT:
                raise interp.missing_key(key, call.frame, call.node)
            interp.doubts += 1
            value = rest
        else:
            because = value.reason if isinstance(value, OneOf) else value
            value = default if rest is ABSENT else join_values(rest, default, because)
    if name == "setdefault" and not surely_there:
        set_entry(interp, call.frame, call.node, owner, key, value)
    if name == "pop" and (key in owner or not surely_there):
        interp.journal.touch(owner)
        owner.pop(key, None)
    return value


def _under_unknown_key(call: MethodCall, owner: dict[Any, Any], key: Unknown) -> Value:
    interp = call.interp
    interp.doubts += 1
    found = lost(unknown_entry(owner, key), *call.args[1:])
    if call.name == "pop":
        interp.journal.touch(owner)
        for other in owner:
            owner[other] = join_values(owner[other], ABSENT, key)
    if call.name == "setdefault":
        interp.journal.touch(owner)
        for other in owner:
            if may_be_absent(owner[other]):
                owner[other] = join_values(owner[other], call.at(1), key)
        owner[spread(key)] = call.at(1)
    return found


def _pop_item(call: MethodCall, owner: dict[Any, Any]) -> Value:
    call.between(0, 0)
    if not owner:
        raise call.fail("KeyError", "popitem(): dictionary is empty")
    key = next(reversed(owner))
    if is_spread(key) or may_be_absent(owner[key]):
        unknown = unknown_entry(owner, call.unknown("the last item of a dict"))
        effects.loosen(call.interp, owner, unknown)
        return unknown
    call.interp.journal.touch(owner)
    return (key, owner.pop(key))


def _update(call: MethodCall, owner: dict[Any, Any]) -> Value:
    call.between(0, 1)
    interp, frame, node = call.interp, call.frame, call.node
    other = call.at(0, {})
    if isinstance(other, OneOf):
        interp.over(frame, node, other, lambda o: _update(call.with_args(o), owner))
    elif isinstance(entries := entries_of(interp, frame, node, other), dict):
        merge(interp, frame, node, owner, entries)
    elif isinstance(entries, Unknown):
        effects.loosen(interp, owner, entries, other)
    else:
        for pair in call.spread_items(other):
            _update_pair(call, owner, pair)
    merge(interp, frame, node, owner, dict(call.kwargs))
    return None


def _update_pair(call: MethodCall, owner: dict[Any, Any], pair: Value) -> None:
    items = iterate(call.interp, call.frame, call.node, pair) if not is_spread(pair) else pair
    if isinstance(items, Unknown) or any(is_spread(item) for item in items):
        effects.loosen(call.interp, owner, find_unknown(items) or call.unknown("a pair"), pair)
    elif len(items) != 2:
        raise call.fail("ValueError", "dictionary update sequence element is no pair")
    else:
        set_entry(call.interp, call.frame, call.node, owner, items[0], items[1])
