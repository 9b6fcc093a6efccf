"""What Python itself leaves open is not compared with the interpreter: the harness of random programs."""

import pytest

from tests.code.random_programs.by_python import LeftOpen, run_by_python
from tests.code.random_programs.choices import Seeded
from tests.code.random_programs.modules import HEAD
from tests.code.random_programs.programs import arguments, seeded

GIVEN = {**arguments(Seeded("any")), "table": {"a": 1, "one": 2}}


def program(*lines: str) -> str:
    body = "\n".join(f"    {line}" for line in lines)
    return f"{HEAD}\n\ndef run(a, b, flag, word, xs, ys, table, thing):\n{body}\n"


@pytest.mark.parametrize(
    "lines",
    [
        ("for key in table:", "    table['bc'] = table.pop(key)"),
        ("for key in table:", "    table[key] = table.pop(key)"),
        ("return [table.setdefault(key * 2, table.pop(key)) for key in table.keys()]",),
        ("for key in table:", "    table['bc'] = 1"),
        ("return len(str(Base(1)))",),
        ("return f'{[Config(size=1)]}'",),
        ("while True:", "    a = 1"),
        ("while True:", "    xs = xs + [1]"),
    ],
)
def test_there_is_no_answer_to_compare_with(lines: tuple[str, ...]) -> None:
    with pytest.raises(LeftOpen):
        run_by_python(program(*lines), GIVEN)


@pytest.mark.parametrize(
    ("lines", "value"),
    [
        (("for key in table:", "    table[key] = 5", "return table"), {"a": 5, "one": 5}),
        (("for key in table:", "    table['bc'] = 1", "    break", "return len(table)"), 3),
        (("return str(Point(1)), str(Kind.LEFT)",), ("Point(x=1, y=2, tags=[])", "Kind.LEFT")),
    ],
)
def test_there_is_an_answer(lines: tuple[str, ...], value: object) -> None:
    assert run_by_python(program(*lines), GIVEN) == value


@pytest.mark.parametrize("in_order", [True, False])
def test_programs_are_python(in_order: bool) -> None:
    for seed in range(40):
        text, _ = seeded(seed, runs=0, in_order=in_order)
        compile(text, "program.py", "exec", dont_inherit=True)
