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


CHANGE = """
def change(thing, to=2):
    thing.y = to
    thing.x = thing.y + thing.y
"""


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("def make(self):\n        self.y = 2\n        self.x = self.y", 2),
        ("def make(self):\n        self.other()\n        self.x = self.y", 2),
        ("def make(self):\n        self.other()\n        self.x = self.y\n        self.y = 9", 2),
        ("def make(self):\n        change(self)", 4),
        ("def make(self):\n        change(thing=self, to=self.y)", 2),
        ("def make(self):\n        change(self)\n        self.x = self.x + self.y", 6),
        ("def make(self):\n        if self.y == 1:\n            return change(self)\n        self.x = 8", 4),
    ],
)
def test_what_functions_set_that_are_handed_the_object(method: str, expected: int) -> None:
    code = (
        f"{CHANGE}\n\nclass Thing:\n    def __init__(self):\n        self.y = 1\n        self.make()\n\n"
        f"    {method}\n\n    def other(self):\n        self.y = 2\n"
    )

    assert attribute(code, "x") == expected


def test_a_method_that_runs_itself_leaves_what_it_sets_open() -> None:
    code = (
        "class Thing:\n    def __init__(self):\n        self.make(3)\n\n    def make(self, n):\n"
        "        self.x = n\n        if n:\n            self.make(n - 1)\n"
    )

    assert find_unknown(attribute(code, "x")) is not None


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        ("this = self\n        this.x = 3", 3),
        ("this = self\n        self.x = 3\n        this.x = this.x + 1", 4),
        ("this = self\n        this.x = 3\n        self.x = self.x + 2", 5),
        ("this = self\n        this.make(6)", 6),
        ("this = self\n        change(this)", 4),
        ("getattr(self, 'make')(7)", 7),
        ("this = self\n        getattr(this, 'make')(x=8)", 8),
        ("this = self\n        this.y, this.x = 3, 9", None),
        ("this = self\n        if other:\n            this = Other()\n        this.x = 3", None),
        ("this = self\n        this = Other()\n        this.x = 3", None),
        ("this = self\n        setattr(this, self.y, 2)", None),
    ],
)
def test_the_object_under_another_name(start: str, expected: int | None) -> None:
    """None: not followed, and so not known, whatever else sets it."""
    code = (
        f"{CHANGE}\n\nclass Other:\n    pass\n\n\nclass Thing:\n    def __init__(self, other=None):\n"
        f"        self.x = 1\n        self.y = 1\n        {start}\n\n"
        "    def make(self, x):\n        self.x = x\n"
    )

    value = attribute(code, "x")
    assert value == expected if expected is not None else find_unknown(value) is not None


def test_what_a_property_keeps() -> None:
    code = (
        "class Thing:\n    def __init__(self):\n        self.x = 4\n\n    @property\n"
        "    def x(self):\n        return self._kept\n\n    @x.setter\n    def x(self, value):\n"
        "        self._kept = value * 2\n"
    )

    assert attribute(code, "_kept") == 8


def test_what_a_function_sets_is_not_taken_for_missing() -> None:
    code = (
        "def change(thing):\n    thing.x = 1\n\n\nclass Thing:\n    def __init__(self):\n        self.y = 1\n"
        "\n    def start(self):\n        change(self)\n"
    )

    assert attribute(code, "x") is NotImplemented


@pytest.mark.parametrize(
    "body",
    [
        "x = 1\nif y == 3:\n    raise ValueError(y)\nx = 2\nseen(x)",
        "x = 1\nif y == 3:\n    raise ValueError(y)\nelse:\n    x = 2\n    seen(x)",
        "x = 1\nif y == 3:\n    raise ValueError(y)\nelif y:\n    x = 2\n    seen(x)",
    ],
    ids=["above", "in the else", "in the elif"],
)
def test_what_follows_a_raise_is_about_runs_that_come_there(body: str) -> None:
    assert asked(body, y=3) == 2


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("block", 1), ("causal", 2), ("tree", 3), ("other", 4)],
)
def test_which_case_of_a_match_is_taken(kind: str, expected: int) -> None:
    body = (
        'match kind:\n    case "block":\n        x = 1\n    case "causal" | "dense":\n        x = 2\n'
        '    case _ if kind.startswith("t"):\n        x = 3\n    case _:\n        x = 4\nseen(x)'
    )

    assert asked(body, kind=kind) == expected


def test_a_case_that_may_be_taken_is_open() -> None:
    body = "x = 0\nmatch flag:\n    case 1:\n        x = 1\n    case 2:\n        x = 2\nseen(x)"

    assert find_unknown(asked(body)) is not None


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("if (x := y + 1) > 2:\n    pass\nseen(x)", 4),
        ("if y < 2 or y:\n    if not (x := y):\n        x = 9\nseen(x)", 3),
        ("z = 1 if (x := y) else 2\nseen(x + z)", 4),
        ("if y < 1:\n    x = 7\nelif (x := y):\n    pass\nseen(x)", 3),
    ],
)
def test_what_a_condition_binds(body: str, expected: int) -> None:
    assert asked(body, y=3) == expected


@pytest.mark.parametrize(
    "body",
    [
        "x = 1\nif flag and (x := 2):\n    pass\nseen(x)",
        "x = 1\nz = (x := 2) if flag else 3\nseen(x)",
        "x = 1\nz = [y for y in items if (x := y)]\nseen(x)",
        "x = 1\nif 1 < flag < (x := 2):\n    pass\nseen(x)",
    ],
)
def test_what_a_condition_may_bind_is_open(body: str) -> None:
    assert find_unknown(asked(body)) is not None


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
