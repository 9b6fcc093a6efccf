"""Which of Python's types and methods are computed, and which of the methods change their object."""

from investigator.code.values import ExceptionValue, View

TYPES: dict[str, type | tuple[type, ...]] = {
    "int": int,
    "float": float,
    "str": str,
    "bool": bool,
    "list": list,
    "tuple": tuple,
    "dict": dict,
    "set": set,
    "frozenset": frozenset,
    "slice": slice,
    "range": range,
}
"""Builtin types by name."""

_STR = """startswith endswith lower upper strip lstrip rstrip split rsplit join replace removeprefix
removesuffix partition rpartition isdigit isalpha isalnum isnumeric isupper islower isspace
isidentifier find rfind index rindex count title capitalize casefold swapcase splitlines ljust rjust
center zfill format"""
_LIST = "append extend insert pop remove index count copy clear sort reverse"
_DICT = "get items keys values update pop popitem setdefault copy clear"
_SET = """add update discard remove pop union intersection difference symmetric_difference issubset
issuperset isdisjoint copy clear difference_update intersection_update symmetric_difference_update"""
_FROZEN = "union intersection difference symmetric_difference issubset issuperset isdisjoint copy"

_MUTATING = """append extend insert pop remove clear sort reverse update setdefault popitem add discard
difference_update intersection_update symmetric_difference_update appendleft extendleft move_to_end
subtract"""

METHODS: dict[type, frozenset[str]] = {
    str: frozenset(_STR.split()),
    list: frozenset(_LIST.split()),
    tuple: frozenset(["index", "count"]),
    dict: frozenset(_DICT.split()),
    set: frozenset(_SET.split()),
    frozenset: frozenset(_FROZEN.split()),
    int: frozenset(["bit_length", "bit_count"]),
    float: frozenset(["is_integer"]),
    range: frozenset(["index", "count"]),
    View: frozenset(["isdisjoint"]),
    ExceptionValue: frozenset(["with_traceback", "add_note"]),
}
"""The methods that are computed, by type."""

MUTATING = frozenset(_MUTATING.split())
"""Methods, of these types and of the standard library's containers, that change their object."""
