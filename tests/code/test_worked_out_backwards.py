"""Values worked out backwards: which assignment counts, in loops, branches and constructors."""

import pytest

from investigator.code import lazy
from investigator.code.interpreter import Interpreter
from investigator.code.program import Program
from investigator.code.syntax import descendants, field, text
from investigator.code.trace import Happening
from investigator.code.values import ClassValue, FunctionValue, Instance, OneOf, Unknown, Value, find_unknown
from tests.support.builders import TextTree, source


def asked(body: str, *, first_round: bool = False, **names: Value) -> Value:
    """What ``seen(...)`` is handed in a function of this body; ``flag`` is a parameter nobody knows."""
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    interp = interpreter(f"def function(flag, items):\n{lines}\n")
    module = interp.program.module("code")
    assert module is not None
    function = interp.global_name(module, "function")
    assert isinstance(function, FunctionValue)
    calls = [c for c in descendants(function.node, "call") if text(field(c, "function")) == "seen"]
    argument = field(calls[0], "arguments").named_children[0]
    return lazy.value_at(interp, function, argument, None, names=names, first_round=first_round)


def interpreter(code: str) -> Interpreter:
    return Interpreter(Program(TextTree(source("code"), {"code.py": code})))


def made(code: str, cls: str = "Thing") -> tuple[Interpreter, Instance]:
    interp = interpreter(code)
    module = interp.program.module("code")
    assert module is not None
    value = interp.global_name(module, cls)
    assert isinstance(value, ClassValue)
    return interp, lazy.instance(interp, value, lazy.nothing)


def attribute(code: str, name: str) -> Value:
    _, thing = made(code)
    assert thing.made_by is not None
    return thing.made_by(name)


# -- loops -----------------------------------------------------------------------------


def test_an_assignment_of_this_round_counts() -> None:
    assert asked("for item in items:\n    x = 3\n    seen(x)\n    x = 4") == 3


def test_what_an_earlier_round_may_have_left_is_open() -> None:
    value = asked("x = 3\nwhile flag:\n    seen(x)\n    x = 4")

    missing = find_unknown(value)
    assert missing is not None
    assert missing.reason == "an earlier round of a loop may have left it"


def test_the_first_round_sees_what_stands_before_the_loop() -> None:
    assert asked("x = 3\nwhile flag:\n    seen(x)\n    x = 4", first_round=True) == 3


def test_an_inner_loop_counts_like_an_outer_one() -> None:
    assert asked("for a in items:\n    x = 3\n    for b in items:\n        seen(x)\n    x = 4") == 3
    assert find_unknown(
        asked("for a in items:\n    x = 3\n    for b in items:\n        seen(x)\n        x = 4")
    )


def test_what_a_loop_assigned_is_open_behind_it() -> None:
    value = asked("x = 3\nfor item in items:\n    x = 4\nseen(x)")

    assert isinstance(value, Unknown)
    assert value.reason == "assigned in a loop"


def test_a_name_that_the_question_fixes_has_its_value_wherever_it_is_bound() -> None:
    assert asked("for item in items:\n    seen(item + 1)", item=5) == 6


# -- branches --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "options"),
    [
        ("if flag:\n    x = 1\nelse:\n    x = 2\nseen(x)", {1, 2}),
        ("x = 0\nif flag:\n    x = 1\nelse:\n    x = 2\nseen(x)", {1, 2}),
        ("x = 0\nif flag:\n    x = 1\nseen(x)", {0, 1}),
        ("if flag:\n    x = 1\nelif items:\n    x = 2\nelse:\n    x = 3\nseen(x)", {1, 2, 3}),
    ],
    ids=["both sides", "both sides over a default", "one side over a default", "three ways"],
)
def test_sides_of_an_undecided_condition_are_weighed_together(body: str, options: set[int]) -> None:
    value = asked(body)

    assert isinstance(value, OneOf)
    assert set(value.options) == options


@pytest.mark.parametrize(
    "body",
    [
        "if flag:\n    x = 1\nseen(x)",
        "if flag:\n    x = 1\nelif items:\n    x = 2\nseen(x)",
        "if flag:\n    x = 1\nif items:\n    x = 2\nseen(x)",
    ],
    ids=["one side", "no else", "two conditions"],
)
def test_a_name_that_may_be_unassigned_is_open(body: str) -> None:
    value = asked(body)

    assert isinstance(value, OneOf)
    assert any(isinstance(option, Unknown) for option in value.options)


def test_an_inner_condition_is_looked_at_only_where_the_outer_ones_hold() -> None:
    assert (
        asked("config = None\nx = 1\nif config is not None:\n    if config.deep:\n        x = 2\nseen(x)")
        == 1
    )


# -- attributes ------------------------------------------------------------------------


def test_an_attribute_that_is_changed_is_worked_out_from_what_it_was() -> None:
    assert (
        attribute(
            "class Thing:\n    def __init__(self):\n        self.x = 2\n        self.x = self.x * 5\n", "x"
        )
        == 10
    )


def test_a_change_in_a_subclass_sees_what_the_base_assigned() -> None:
    code = (
        "class Base:\n    def __init__(self):\n        self.x = 2\n\n\n"
        "class Thing(Base):\n    def __init__(self):\n        super().__init__()\n"
        "        self.x = self.x + 1\n"
    )

    assert attribute(code, "x") == 3


def test_a_base_has_its_own_default_for_what_it_is_not_handed() -> None:
    code = (
        "class Base:\n    def __init__(self, size=2):\n        self.size = size\n\n\n"
        "class Thing(Base):\n    def __init__(self, size=1):\n        super().__init__()\n"
    )

    assert attribute(code, "size") == 2


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("def make(self, x, y=4):\n        z = x + y\n        self.x = z", 7),
        ("def make(self, x):\n        if x < 4:\n            x = 5\n        self.x = x", 5),
        ("def make(self, x):\n        if x != 3:\n            self.x = 6", 1),
        ("def make(self, x):\n        self.x = self.x + x", 4),
    ],
    ids=["by a default", "under a condition", "not reached", "of what it was"],
)
def test_what_a_method_sets_that_init_calls(method: str, expected: int) -> None:
    code = (
        f"class Thing:\n    def __init__(self):\n        self.x = 1\n        self.make(3)\n\n    {method}\n"
    )

    assert attribute(code, "x") == expected


@pytest.mark.parametrize(
    "method",
    [
        "def make(self):\n        self.y = 2\n        self.x = self.y",
        "def make(self):\n        self.other()\n        self.x = self.y",
        "def make(self):\n        change(self)\n        self.x = self.y",
    ],
    ids=["sets another one too", "calls another method", "hands the object on"],
)
def test_a_method_that_may_change_more_leaves_what_it_sets_open(method: str) -> None:
    code = (
        "class Thing:\n    def __init__(self):\n        self.y = 1\n        self.make()\n\n"
        f"    {method}\n\n    def other(self):\n        self.y = 2\n"
    )

    assert find_unknown(attribute(code, "x")) is not None


@pytest.mark.parametrize("before", ["", "        self.table = None\n"], ids=["alone", "over an assignment"])
def test_a_buffer_that_a_module_registers_is_there(before: str) -> None:
    code = (
        "from torch import nn\n\n\nclass Thing(nn.Module):\n    def __init__(self):\n"
        f"        super().__init__()\n{before}        self.register_buffer('table', made())\n"
    )

    assert find_unknown(attribute(code, "table")) is not None or attribute(code, "table") is NotImplemented


def test_an_attribute_defined_by_itself_alone_is_open() -> None:
    code = "class Thing:\n    def __init__(self):\n        self.x = self.x + 1\n"

    assert find_unknown(attribute(code, "x")) is not None


def test_the_deciding_assignment_is_noted() -> None:
    interp, thing = made("class Thing:\n    def __init__(self):\n        self.x = 1\n        self.x = 2\n")
    assert thing.made_by is not None
    thing.made_by("x")

    bound = interp.trace.last(Happening.BIND, lambda event: event.name == "self.x")

    assert bound is not None
    assert (bound.value, bound.place.line) == (2, 4)


def test_objects_of_classes_that_a_question_names_are_worked_out_on_demand() -> None:
    code = (
        "class Heavy:\n    def __init__(self, size):\n        self.size = size\n"
        "        self.buffer = size / 0\n\n\n"
        "class Thing:\n    def __init__(self):\n        self.part = Heavy(3)\n"
    )
    interp, thing = made(code)
    interp.made_on_demand = lambda cls: cls.name == "Heavy"
    assert thing.made_by is not None

    part = thing.made_by("part")

    assert isinstance(part, Instance)
    assert part.made_by is not None
    assert part.made_by("size") == 3


def test_a_class_tells_its_resolution_order() -> None:
    interp = interpreter("class A: ...\nclass B(A): ...\norder = B.__mro__\n")
    module = interp.program.module("code")
    assert module is not None

    order = interp.global_name(module, "order")

    assert [cls.name for cls in order if isinstance(cls, ClassValue)] == ["B", "A"]
