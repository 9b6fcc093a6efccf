"""Quotes are read again, and one that does not hold stops the run."""

import pytest

from investigator.evidence_check import EvidenceError, check_evidence
from tests.support.builders import TextTree, evidence, source

TREE = TextTree(
    source(),
    {"vllm/runner.py": "def ids():\r\n    return ids\r\n\x0cclass A:\n    a = 1\n    b = 2\n    c = 3\n"},
)
TREES = {"vllm": TREE}


def test_a_quote_that_stands_there_is_counted_once():
    assert check_evidence([evidence(), evidence()], TREES) == 1


def test_a_range_longer_than_three_lines_quotes_its_first_three():
    long = evidence(line=3, end_line=6, quote="\x0cclass A:\n    a = 1\n    b = 2")

    assert check_evidence([long], TREES) == 1


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"quote": "    return  ids"}, "the file says '    return ids'"),
        ({"line": 3, "end_line": 3}, "the quote is"),
        ({"line": 0}, "the file has 7 lines"),
        ({"line": 2, "end_line": 1}, "the file has 7 lines"),
        ({"line": 8, "end_line": 8}, "the file has 7 lines"),
        ({"path": "vllm/gone.py"}, "it cannot be read again"),
        ({"source": "nowhere"}, "no source 'nowhere'"),
    ],
)
def test_a_quote_that_does_not_hold_names_its_place_and_why(changes, reason):
    with pytest.raises(EvidenceError, match="does not hold") as caught:
        check_evidence([evidence(**changes)], TREES)

    assert reason in str(caught.value)
    assert f":{changes.get('line', 2)} does not hold" in str(caught.value)
