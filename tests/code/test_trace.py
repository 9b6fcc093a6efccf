"""The trace: what an answer's evidence is made of."""

from investigator.code.interpreter import Interpreter
from investigator.code.trace import Event, Happening
from investigator.code.values import Instance, OneOf, TracedDict, Unknown
from tests.code.running import UNKNOWN, call, interpreter

TEXT = """\
def shift(ids):
    return [i + 1 for i in ids]

def taps(config, flag):
    ids = config["ids"]
    if config.get("shifted", False):
        ids = shift(ids)
    if flag:
        ids = [0, *ids]
    if flag is None:
        raise ValueError("no flag")
    return ids
"""


def traced(**values: object) -> tuple[Interpreter, TracedDict]:
    config = TracedDict(values)
    config.label = "draft config"
    return interpreter(TEXT), config


def lines(events: list[Event]) -> list[str]:
    return [" > ".join(str(place.line) for place in event.stack) for event in events]


def test_every_read_of_a_key_is_there_with_its_value_and_its_line() -> None:
    interp, config = traced(ids=[1, 2])

    assert call(interp, "taps", config, False) == [1, 2]

    reads = list(interp.trace.of(Happening.READ))
    assert [(e.name, e.value) for e in reads] == [
        ("draft config.ids", [1, 2]),
        ("draft config.shifted", None),
    ]
    assert lines(reads) == ["5", "6"]


def test_the_path_taken_with_the_stack_of_places_that_led_to_each_step() -> None:
    interp, config = traced(ids=[1], shifted=True)

    assert call(interp, "taps", config, False) == [2]

    told = [(e.kind.value, e.name) for e in interp.trace.events if e.kind is not Happening.READ]
    assert told == [
        ("call", "taps"),
        ("branch", 'config.get("shifted", False)'),
        ("call", "shift"),
        ("return", "shift"),
        ("branch", "flag"),
        ("branch", "flag is None"),
        ("return", "taps"),
    ]
    inner = next(interp.trace.of(Happening.RETURN, "shift"))
    assert inner.value == [2]
    assert lines([inner]) == ["7 > 2"]  # called in line 7, returned in line 2


def test_a_fork_says_why_and_a_path_left_out_is_an_assumption() -> None:
    interp, config = traced(ids=[1])

    value = call(interp, "taps", config, UNKNOWN)

    assert isinstance(value, (OneOf, list))
    forks = list(interp.trace.of(Happening.FORK))
    assert lines(forks) == ["8", "10"]
    assert {str(e.value) for e in forks} == {"not given"}
    [assumed] = interp.trace.of(Happening.ASSUME)
    assert (assumed.name, assumed.place.line) == ("no ValueError", 10)


def test_what_is_not_followed_and_what_is_stored_are_there() -> None:
    interp = interpreter(
        "from other import helper\nclass C:\n    pass\n"
        "def run():\n    c = C()\n    c.x = helper(1)\n    return c\n",
        {"other.py": "def helper(x):\n    return x\n"},
    )

    made = call(interp, "run")

    assert isinstance(made, Instance)
    assert isinstance(made.attributes["x"], Unknown)
    assert made.attributes["x"].not_followed == "helper"
    [skipped] = interp.trace.of(Happening.SKIP)
    assert (skipped.name, skipped.value, skipped.place.line) == ("helper", ((1,), {}), 6)
    [stored] = interp.trace.of(Happening.STORE)
    assert (stored.name, stored.value[0]) == ("C.x", made)
