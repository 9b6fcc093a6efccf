"""Dataclasses, named tuples, enumerations; configs as dicts and as objects."""

import pytest

from investigator.code.values import Instance, Raised, TracedDict
from tests.code.running import UNKNOWN, options_of, reason, run


@pytest.mark.parametrize(
    ("fields", "expression", "value"),
    [
        ("x: int\n    y: int = 2", "Made(1).y + Made(1, 5).y + Made(y=3, x=4).x", 11),
        ("ids: list = field(default_factory=list)", "Made().ids is Made().ids", False),
        ("ids: list = field(default_factory=lambda: [7])", "Made().ids", [7]),
        ("x: int = field(default=4, init=False)", "Made().x", 4),
        ("x: int\n    def __post_init__(self):\n        self.y = self.x * 3", "Made(2).y", 6),
        ("x: int\n    kinds: ClassVar[int] = 9", "Made(2).kinds", 9),
        ("x: int", "Made(1) == Made(1), Made(1) == Made(2)", (True, False)),
        ("x: int = 1", "replace(Made(), x=5).x", 5),
        (
            "x: int = 1\n    def __post_init__(self):\n        self.y = self.x + 1",
            "replace(Made(), x=5).y",
            6,
        ),
    ],
)
def test_dataclass_fields(fields: str, expression: str, value: object) -> None:
    text = (
        "from dataclasses import dataclass, field, replace\nfrom typing import ClassVar\n"
        f"@dataclass\nclass Made:\n    {fields}\ndef run():\n    return {expression}\n"
    )
    assert run(text) == value


FAR = """
from dataclasses import dataclass, field

@dataclass(frozen=True)
class Plain:
    x: int
    ids: list = field(default_factory=list)

@dataclass
class Busy(Plain):
    def __post_init__(self):
        self.y = 5
"""


def test_a_dataclass_of_another_file_that_runs_no_code_is_filled() -> None:
    text = "def run(x):\n    from far import Busy, Plain\n    return Plain(x, ids=[x]).ids, Plain(3).x, {}\n"

    assert run(text.format("0"), 7, files={"far.py": FAR}) == ([7], 3, 0)
    busy = run(text.format("Busy(x).y"), 7, files={"far.py": FAR})[2]
    assert reason(busy) == "<Busy> may have an attribute y (m.py:3)"


DATA = "from dataclasses import dataclass, field, replace\n@dataclass\nclass P:\n    x: int = 1\n"


@pytest.mark.parametrize(
    ("classes", "expression", "value"),
    [
        ("class Q(P):\n    z: int = 3\n", "Q(2).x, Q(2).z", (2, 3)),  # z is no field
        ("class Q(P):\n    def __init__(self): super().__init__(5)\n", "Q().x, Q() == Q()", (5, True)),
        (
            "class O:\n    def __init__(self, y): self.y = y\n@dataclass\nclass Q(O):\n    x: int\n",
            "Q(2).x",
            2,
        ),
        (
            "class M:\n    n: int = 4\n@dataclass\nclass Q(M, P):\n    y: int = 2\n",
            "Q(7, 8).x, Q().n",
            (7, 4),
        ),
    ],
)
def test_whose_init_and_whose_fields(classes: str, expression: str, value: object) -> None:
    assert run(f"{DATA}{classes}def run():\n    return {expression}\n") == value


def test_replace_makes_an_object_anew() -> None:
    text = f"{DATA}def run():\n    p = P()\n    p.extra = 3\n    return hasattr(replace(p, x=2), 'extra')\n"
    assert run(text) is False
    with pytest.raises(Raised, match="TypeError"):
        run(f"{DATA}def run():\n    return replace(P(), y=2)\n")


def test_an_object_may_copy_itself() -> None:
    text = """
        import copy
        class A:
            def __init__(self, x): self.x = x
            def __copy__(self): return A(self.x + 1)
            def __deepcopy__(self, seen): return A(self.x + 2)
        def run():
            return copy.copy(A(1)).x, copy.deepcopy([A(1)])[0].x
        """
    assert run(text) == (2, 3)


def test_fields_of_base_classes_come_first() -> None:
    text = """
        from dataclasses import dataclass
        @dataclass
        class A:
            x: int
            y: int = 2
        @dataclass
        class B(A):
            z: int = 3
        def run():
            b = B(1, z=5)
            return b.x, b.y, b.z, B(1, 2, 3) == B(1)
        """
    assert run(text) == (1, 2, 5, True)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ("Made()", "TypeError: Made() misses argument 'x'"),
        ("Made(1, 2)", "TypeError: Made() takes 1 arguments"),
        ("Made(x=1, z=2)", "TypeError: Made() got argument 'z'"),
        ("setattr(Made(1), 'x', 2)", "FrozenInstanceError: cannot assign to field 'x'"),
    ],
)
def test_a_frozen_dataclass_refuses(call: str, error: str) -> None:
    text = "from dataclasses import dataclass\n@dataclass(frozen=True)\nclass Made:\n    x: int\n"
    with pytest.raises(Raised) as caught:
        run(f"{text}def run():\n    return {call}\n")
    assert str(caught.value) == error


def test_a_named_tuple_is_a_tuple_too() -> None:
    text = """
        from typing import NamedTuple
        class Pair(NamedTuple):
            left: int
            right: int = 4
        def run():
            p = Pair(1)
            a, b = p
            return p.right, p[0], a, b, len(p), 4 in p, p == (1, 4), p < (2, 0), [*p, 5], p + (6,)
        """
    assert run(text) == (4, 1, 1, 4, 2, True, True, True, [1, 4, 5], (1, 4, 6))


def test_members_of_enumerations() -> None:
    text = """
        import enum
        class Kind(enum.Enum):
            LEFT = 1
            RIGHT = enum.auto()
        class Mode(str, enum.Enum):
            FAST = "fast"
        def run():
            return (
                Kind(2) is Kind.RIGHT, Kind["LEFT"].value, Kind.LEFT == 1, [k.name for k in Kind],
                Mode("fast") == "fast", Mode.FAST.value, str(Mode.FAST), Mode.FAST in ("fast", "slow"),
            )
        """
    assert run(text) == (True, 1, False, ["LEFT", "RIGHT"], True, "fast", "Mode.FAST", True)


def test_members_in_texts_are_shown_as_python_shows_them_or_not_at_all() -> None:
    text = """
        import enum
        class Mode(str, enum.Enum):
            FAST = "fast"
        def run():
            return "-".join([Mode.FAST]), f"{Mode.FAST}", "%s" % Mode.FAST, "{}".format(Mode.FAST)
        """
    joined, shown, *others = run(text)
    assert (joined, shown) == ("fast", "Mode.FAST")
    assert [reason(other) for other in others] == ["% formatting (m.py:6)", "format (m.py:6)"]


# -- configs ---------------------------------------------------------------------------

CONFIG = {"ids": [1, 9], "window": None, "rope": {"theta": 10_000}}


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("config['ids'][-1]", 9),
        ("config.get('ids')", [1, 9]),
        ("config.get('missing')", None),
        ("config.get('missing', 5)", 5),
        ("config.get('window') or 7", 7),
        ("'ids' in config and 'missing' not in config", True),
        ("config['rope']['theta']", 10_000),
        ("{**config, 'ids': []}['ids']", []),
        ("[k for k in config]", ["ids", "window", "rope"]),
        ("config.pop('ids', None) and 'ids' in config", False),
    ],
)
def test_a_config_as_a_dict(expression: str, value: object) -> None:
    config = TracedDict(CONFIG)
    config.label = "config"
    assert run(f"def run(config):\n    return {expression}\n", config) == value


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("config.ids", [1, 9]),
        ("getattr(config, 'ids')", [1, 9]),
        ("getattr(config, 'missing', 5)", 5),
        ("getattr(config, 'window', 5)", None),
        ("getattr(config, 'window', None) or 7", 7),
        ("hasattr(config, 'ids'), hasattr(config, 'missing')", (True, False)),
        ("vars(config)['ids']", [1, 9]),
    ],
)
def test_a_config_as_an_object(expression: str, value: object) -> None:
    config = Instance(None, dict(CONFIG), label="config")
    assert run(f"def run(config):\n    return {expression}\n", config) == value


def test_a_key_that_is_missing_raises_and_the_error_holds_it() -> None:
    text = """
        def run(config):
            try:
                return config["missing"]
            except KeyError as error:
                return str(error), error.args
        """
    assert run(text, dict(CONFIG)) == ("'missing'", ("missing",))


def test_an_object_that_is_not_known_whole_may_have_any_attribute() -> None:
    config = Instance(None, {"ids": [1]}, complete=False, label="config")
    text = "def run(config):\n    return config.ids, getattr(config, 'window', 5)\n"
    ids, window = run(text, config)
    assert ids == [1]
    assert reason(window) == "<config> may have an attribute window (m.py:2)"


def test_a_default_under_an_unknown_key_may_fill_in_what_was_deleted() -> None:
    text = "def run(k):\n    d = {'a': 5}\n    del d[k]\n    d.setdefault(k, 1)\n    return d.get('a', 0)\n"
    assert 1 in options_of(run(text, UNKNOWN))


def test_a_key_that_is_set_on_one_side_may_be_missing() -> None:
    text = "def run(c):\n    d = {}\n    if c:\n        d['k'] = 1\n    return d.get('k', 0)\n"
    assert sorted(options_of(run(text, UNKNOWN))) == [0, 1]
