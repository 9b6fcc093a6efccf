"""Methods of lists, and what tuples share with them."""

from __future__ import annotations

from typing import Any

from investigator.code import effects
from investigator.code.builtin_call import MethodCall
from investigator.code.equality import is_plain
from investigator.code.heap import lost
from investigator.code.sorting import sorted_items
from investigator.code.trace import Happening
from investigator.code.values import (
    BudgetSpent,
    OneOf,
    Raised,
    Unknown,
    Value,
    find_unknown,
    is_spread,
)

MAX_LIST = 1_000_000


def list_method(call: MethodCall, owner: list[Any]) -> Value:
    interp, name = call.interp, call.name
    if name == "append":
        call.between(1, 1)
        interp.journal.touch(owner)
        owner.append(call.args[0])
        _check_size(call, owner)
        interp.note(Happening.APPEND, "append", call.args[0], call.frame, call.node)
        return None
    if name == "extend":
        call.between(1, 1)
        items = call.spread_items(call.args[0])
        interp.journal.touch(owner)
        owner.extend(items)
        _check_size(call, owner)
        return None
    if name in ("index", "count"):
        return search(call, owner)
    if name == "copy":
        return interp.journal.born(list(owner))
    if name in ("clear", "reverse"):
        call.between(0, 0)
        interp.journal.touch(owner)
        getattr(owner, name)()
        return None
    if name == "sort":
        return _sort(call, owner)
    if name == "remove":
        return _remove(call, owner)
    return _at_index(call, owner)


def _check_size(call: MethodCall, owner: list[Any]) -> None:
    if len(owner) > MAX_LIST:
        raise BudgetSpent(f"a list of over {MAX_LIST:,} items", call.place)


def _at_index(call: MethodCall, owner: list[Any]) -> Value:
    """``insert`` and ``pop``."""
    interp = call.interp
    inserts = call.name == "insert"
    call.between(2 if inserts else 0, 2 if inserts else 1)
    index = call.at(0, -1)
    loose = next((item for item in owner if is_spread(item)), None)
    at_end = not inserts and index == -1 and owner and not is_spread(owner[-1])
    if isinstance(index, (Unknown, OneOf)) or (loose is not None and not at_end):
        interp.doubts += 1
        because = find_unknown(index) or loose or call.unknown("an index")
        found = lost(because, *owner)
        effects.loosen(interp, owner, because, *(call.args[1:] if inserts else ()))
        return None if inserts else found
    interp.journal.touch(owner)
    with interp.host_errors(call.frame, call.node):
        return owner.insert(index, call.args[1]) if inserts else owner.pop(index)


def _remove(call: MethodCall, owner: list[Any]) -> Value:
    call.between(1, 1)
    interp = call.interp
    for index, item in enumerate(owner):
        held = None if is_spread(item) else call.equal(item, call.args[0])
        if held is None:
            interp.doubts += 1
            effects.loosen(interp, owner, find_unknown((item, call.args[0])) or call.unknown("remove"))
            return None
        if held:
            interp.journal.touch(owner)
            del owner[index]
            return None
    raise call.fail("ValueError", "list.remove(x): x not in list")


def search(call: MethodCall, items: list[Value]) -> Value:
    """``index`` and ``count`` of a list or tuple."""
    call.between(1, 3 if call.name == "index" else 1)
    if len(call.args) > 1:
        return call.on_host(items) if is_plain(items) else call.unknown("index from a place on")
    call.interp.charge(call.frame, call.node, len(items))
    count = 0
    for index, item in enumerate(items):
        held = None if is_spread(item) else call.equal(item, call.args[0])
        if held is None:
            return find_unknown((item, call.args[0])) or call.unknown(call.name)
        if held and call.name == "index":
            return index
        count += held
    if call.name == "index":
        raise call.fail("ValueError", "the value is not in the list")
    return count


def _sort(call: MethodCall, owner: list[Any]) -> Value:
    call.between(0, 0)
    interp = call.interp
    try:
        made = sorted_items(interp, call.frame, call.node, list(owner), call.kwargs)
    except Raised as error:
        effects.loosen(interp, owner, call.unknown(f"a sort that ended in {error.error.name}"))
        raise
    if isinstance(made, Unknown):
        effects.loosen(interp, owner, made)
    else:
        interp.journal.touch(owner)
        owner[:] = made
    return None
