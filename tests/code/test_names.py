"""What a name stands for: through every kind of import, re-exports, and module-level statements."""

import pytest

from investigator.code.values import External, Raised, Unknown
from tests.code.running import options_of, reason, run

LAYERS = {
    "pack/__init__.py": "from .layers import Layer, first as one\nfrom .layers.deep import *\n",
    "pack/layers/__init__.py": "from pack.layers.base import Layer\ndef first(ids):\n    return ids[0]\n",
    "pack/layers/base.py": "class Layer:\n    width = 3\n",
    "pack/layers/deep.py": (
        "from .base import Layer as Inner\n__all__ = ['DEPTH', 'Inner']\nDEPTH = 7\nHIDDEN = 8\n"
    ),
    "pack/state.py": "SIZES = [1]\nSIZES.append(2)\nSIZES += [3]\nLIMIT = 4\nLIMIT = LIMIT + 1\n",
}


@pytest.mark.parametrize(
    ("imports", "expression", "value"),
    [
        ("from pack.layers.base import Layer", "Layer.width", 3),
        ("from pack import Layer", "Layer.width", 3),
        ("from pack import one", "one([5, 6])", 5),
        ("import pack.layers.base", "pack.layers.base.Layer.width", 3),
        ("import pack.layers.base as b", "b.Layer.width", 3),
        ("from pack.layers import base", "base.Layer.width", 3),
        ("from pack import DEPTH", "DEPTH", 7),
        ("from pack import *", "Inner.width + DEPTH", 10),
        ("from pack import layers as made", "made.first('ab')", "a"),
        ("from pack.state import SIZES", "SIZES", [1, 2, 3]),
        ("from pack.state import LIMIT", "LIMIT", 5),
        ("if True:\n    from pack import DEPTH\nelse:\n    DEPTH = 0", "DEPTH", 7),
    ],
)
def test_imports(imports: str, expression: str, value: object) -> None:
    assert (
        run(f"{imports}\ndef run():\n    return {expression}\n", files=LAYERS, follow=["first", "one"])
        == value
    )


def test_an_import_that_may_fail_is_a_choice() -> None:
    """The handler's side is not left out: what the import runs is not looked at."""
    text = (
        "try:\n    from pack import DEPTH as D\nexcept ImportError:\n    D = None\ndef run():\n    return D\n"
    )
    assert options_of(run(text, files=LAYERS)) == [None, 7]


def test_what_a_statement_takes_from_a_list_before_it_grows_is_not_known() -> None:
    text = "A = [1]\nB = list(A)\nC = A\nA.append(2)\nD = list(A)\ndef run():\n    return A, B, C, D\n"
    a, b, c, d = run(text)
    assert (a, d) == ([1, 2], [1, 2])
    assert reason(c) == "A as it is before it is changed (m.py:4)"
    assert [reason(item) for item in b] == ["A as it is before it is changed (m.py:4)"]


def test_an_import_inside_a_function_binds_there() -> None:
    assert run("def run():\n    from pack import DEPTH as d\n    return d\n", files=LAYERS) == 7


def test_a_name_that_star_does_not_export_is_no_name() -> None:
    with pytest.raises(Raised, match="NameError: name 'HIDDEN' is not defined"):
        run("from pack.layers.deep import *\ndef run():\n    return HIDDEN\n", files=LAYERS)


def test_names_from_outside_the_tree_keep_their_dotted_name() -> None:
    assert run("import torch.nn as nn\ndef run():\n    return nn.Linear\n") == External("torch.nn.Linear")


def test_files_that_import_each_other() -> None:
    files = {"b.py": "import m\nTWO = m.ONE + 1\n"}
    assert run("import b\nONE = 1\ndef run():\n    return b.TWO\n", files=files) == 2


def test_a_name_that_needs_itself_is_unknown() -> None:
    files = {"b.py": "from m import X\nY = X\n"}
    value = run("from b import Y\nX = Y\ndef run():\n    return X\n", files=files)
    assert reason(value) == "X is defined in terms of itself (m.py:2)"


def test_a_name_bound_on_both_sides_of_an_undecided_condition_is_a_choice() -> None:
    text = (
        "import torch\nSIDE = 1\nif torch.cuda.is_available():\n    SIDE = 2\ndef run():\n    return SIDE\n"
    )
    assert sorted(options_of(run(text))) == [1, 2]


def test_what_a_function_assigns_through_global_is_not_known_before_it_ran() -> None:
    text = "count = 0\ndef more():\n    global count\n    count = 5\ndef run():\n    {}\n    return count\n"
    assert run(text.format("more()")) == 5
    before = options_of(run(text.format("pass")))
    assert before[0] == 0
    assert isinstance(before[1], Unknown)


def test_a_variable_of_a_function_around_is_no_variable_yet() -> None:
    text = """
        def run(late):
            def inner():
                return late, later
            later = 2
            return inner()
        """
    assert run(text, 1) == (1, 2)
    with pytest.raises(Raised, match="UnboundLocalError: variable 'x' is not assigned yet"):
        run("def run():\n    y = x\n    x = 1\n")
