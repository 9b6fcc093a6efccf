"""What is written looks like what stands around it."""

import pytest
from tree_sitter import Node

from investigator.code.syntax import ParsedFile, descendants, parse
from investigator.patches.edits import Edit, apply_edits
from investigator.patches.pen import Pen, Unfit


def opened(source: str | bytes) -> tuple[Pen, ParsedFile]:
    file = parse("m.py", source.encode() if isinstance(source, str) else source)
    return Pen(file), file


def call(file: ParsedFile) -> Node:
    return next(descendants(file.root, "call"))


def function(file: ParsedFile) -> Node:
    return next(descendants(file.root, "function_definition"))


def written(file: ParsedFile, *edits: Edit) -> str:
    return apply_edits(file.source, edits).decode("utf-8", "surrogateescape")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("f()\n", "f(k=v)\n"),
        ("f(a)\n", "f(a, k=v)\n"),
        ("f(a,)\n", "f(a, k=v,)\n"),
        ("f(\n    a,\n    b=1,\n)\n", "f(\n    a,\n    b=1,\n    k=v,\n)\n"),
        ("f(\n    a,\n    b=1,  # why\n)\n", "f(\n    a,\n    b=1,  # why\n    k=v,\n)\n"),
        ("f(\n    a,\n    b=1\n)\n", "f(\n    a,\n    b=1,\n    k=v\n)\n"),
        ("f(a,\n  b)\n", "f(a,\n  b,\n  k=v)\n"),
        ("f(\r\n\ta,\r\n)\r\n", "f(\r\n\ta,\r\n\tk=v,\r\n)\r\n"),
        ("f(**more)\n", "f(**more, k=v)\n"),
        ("f(\n    a,\n    # the last\n)\n", "f(\n    a,\n    k=v,\n    # the last\n)\n"),
        ("x = f(" + "a" * 76 + ", bbbb)\n", "x = f(\n    " + "a" * 76 + ",\n    bbbb,\n    k=v,\n)\n"),
    ],
)
def test_an_argument_is_appended_in_style(before: str, after: str) -> None:
    pen, file = opened(before)
    assert written(file, *pen.argument(call(file), "k=v")) == after


def test_a_generator_as_the_only_argument_is_left_alone() -> None:
    pen, file = opened("f(x for x in y)\n")
    with pytest.raises(Unfit):
        pen.argument(call(file), "k=v")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("def f(): pass\n", "def f(p): pass\n"),
        ("def f(self, a=1): pass\n", "def f(self, a=1, p): pass\n"),
        (
            "def f(\n    self,\n    a=1,\n):\n    pass\n",
            "def f(\n    self,\n    a=1,\n    p,\n):\n    pass\n",
        ),
        (
            "def f(\n    self,\n    **rest: int,\n):\n    pass\n",
            "def f(\n    self,\n    p,\n    **rest: int,\n):\n    pass\n",
        ),
        ("def f(a, **rest): pass\n", "def f(a, p, **rest): pass\n"),
    ],
)
def test_a_parameter_is_appended_in_front_of_the_rest(before: str, after: str) -> None:
    pen, file = opened(before)
    assert written(file, *pen.parameter(function(file), "p")) == after


def test_lines_take_the_indent_of_their_neighbour() -> None:
    pen, file = opened("class A:\n  def f(self):\n    x = 1\n    return x\n")
    statement = next(descendants(file.root, "assignment"))
    edits = [
        pen.before(pen.statement(statement), "# one"),
        pen.after(pen.statement(statement), "if x:", "    x = 2"),
    ]
    assert written(file, *edits) == (
        "class A:\n  def f(self):\n    # one\n    x = 1\n    if x:\n      x = 2\n    return x\n"
    )


def test_tabs_and_crlf_are_kept() -> None:
    pen, file = opened("def f():\r\n\tx = 1\r\n")
    statement = pen.statement(next(descendants(file.root, "assignment")))
    assert written(file, pen.after(statement, "if x:", "    x = 2")) == (
        "def f():\r\n\tx = 1\r\n\tif x:\r\n\t\tx = 2\r\n"
    )


def test_a_missing_last_newline_stays_missing() -> None:
    pen, file = opened("x = 1")
    statement = pen.statement(next(descendants(file.root, "assignment")))
    assert written(file, pen.after(statement, "y = 2")) == "x = 1\ny = 2"


def test_a_byte_order_mark_stays_first() -> None:
    pen, file = opened(b"\xef\xbb\xbfx = 1\n")
    statement = pen.statement(next(descendants(file.root, "assignment")))
    assert apply_edits(file.source, [pen.before(statement, "y = 2")]) == b"\xef\xbb\xbfy = 2\nx = 1\n"


@pytest.mark.parametrize("source", ["x = 1; y = 2\n", "if a: x = 1\n", "y = 2; x = 1\n"])
def test_shared_lines_are_left_alone(source: str) -> None:
    pen, file = opened(source)
    target = next(
        node for node in descendants(file.root, "assignment") if (node.text or b"").startswith(b"x")
    )
    with pytest.raises(Unfit, match="line 1 holds more than one statement"):
        pen.statement(target)


def test_an_indent_that_only_a_docstring_has_is_not_the_unit() -> None:
    pen, _ = opened('"""A\n b\n"""\ndef f():\n        pass\n')
    assert pen.unit == "        "
