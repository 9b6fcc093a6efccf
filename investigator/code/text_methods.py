"""Methods of strings."""

from __future__ import annotations

import re
from collections.abc import Callable

from investigator.code.builtin_call import MethodCall
from investigator.code.shown import has_members_or_unordered
from investigator.code.values import (
    Value,
    find_unknown,
)

MAX_TEXT = 1_000_000


_SIMPLE_FIELDS = re.compile(r"(?:[^{}]|\{\{|\}\}|\{\w*(?:![rs])?(?::[^{}]{0,20})?\})*")


def text_method(call: MethodCall, owner: str) -> Value:
    name = call.name
    if name == "join":
        call.between(1, 1)
        return _join(call, owner)
    limits: dict[str, Callable[[], int]] = {
        "replace": lambda: (len(owner) + 1) * len(call.at(1, "")),
        "ljust": lambda: call.at(0, 0),
        "rjust": lambda: call.at(0, 0),
        "center": lambda: call.at(0, 0),
        "zfill": lambda: call.at(0, 0),
    }
    if find_unknown(call.args) is None and name in limits:
        try:
            too_long = limits[name]() > MAX_TEXT
        except TypeError:
            too_long = False
        if too_long:
            return call.unknown("a very long text")
    if name == "format":
        fields = _SIMPLE_FIELDS.fullmatch(owner) if len(owner) < MAX_TEXT else None
        if fields is None or re.search(r":[^{}]*\d{4}", owner) or _shows_in_its_own_way(call):
            return find_unknown(call.args) or call.unknown("format")
    return call.on_host(owner)


def _shows_in_its_own_way(call: MethodCall) -> bool:
    return any(map(has_members_or_unordered, (*call.args, *call.kwargs.values())))


def _join(call: MethodCall, owner: str) -> Value:
    items = call.spread_items(call.args[0])
    missing = find_unknown(items)
    if missing is not None:
        return missing
    if sum(len(item) + len(owner) for item in items if isinstance(item, str)) > MAX_TEXT:
        return call.unknown("a very long text")
    with call.interp.host_errors(call.frame, call.node):
        return owner.join(items)
