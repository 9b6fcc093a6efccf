"""On toys that somebody changed at random, generation ends in proof or in a reason, never in a crash."""

import ast
import re
import warnings
from collections.abc import Callable
from datetime import UTC, datetime

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from investigator.code.program import Program
from investigator.model import Verdict
from investigator.patches.combination import patch_bytes
from investigator.patches.edits import by_path, edited_files
from investigator.patches.git import applied
from investigator.patches.repairs import REPAIRS, CannotRepair, Fault, repair
from investigator.patches.series import first_failure, generate
from investigator.sources.overlay_tree import PatchedTree
from investigator.sources.text_tree import TextTree
from tests.patches import miniature
from tests.patches.miniature import FILES

WHEN = datetime(2026, 4, 27, tzinfo=UTC)
Mutation = Callable[[list[str], int, int], list[str]]


def _drop_line(lines: list[str], at: int, _: int) -> list[str]:
    return lines[:at] + lines[at + 1 :]


def _repeat_line(lines: list[str], at: int, _: int) -> list[str]:
    return lines[: at + 1] + lines[at:]


def _comment(lines: list[str], at: int, _: int) -> list[str]:
    indent = re.match(r"\s*", lines[at])
    assert indent is not None
    return [*lines[:at], f"{indent[0]}# use_eagle target_layer_ids causal=False", *lines[at:]]


def _trailing_comment(lines: list[str], at: int, _: int) -> list[str]:
    return [*lines[:at], lines[at] + "  # why", *lines[at + 1 :]] if lines[at].strip() else lines


def _join(lines: list[str], at: int, _: int) -> list[str]:
    """Two lines of a bracket on one."""
    return (
        [*lines[:at], lines[at] + lines[at + 1].strip(), *lines[at + 2 :]] if at + 1 < len(lines) else lines
    )


def _semicolon(lines: list[str], at: int, _: int) -> list[str]:
    if at + 1 >= len(lines):
        return lines
    return [*lines[:at], f"{lines[at]}; {lines[at + 1].strip()}", *lines[at + 2 :]]


def _rename(lines: list[str], at: int, which: int) -> list[str]:
    names = re.findall(r"[A-Za-z_]\w*", lines[at])
    if not names:
        return lines
    name = names[which % len(names)]
    return [re.sub(rf"\b{name}\b", f"{name}_x", line) for line in lines]


def _subscript(lines: list[str], at: int, _: int) -> list[str]:
    return [*lines[:at], re.sub(r"\.get\(([^()]*)\)", r"[\1]", lines[at]), *lines[at + 1 :]]


def _swap_value(lines: list[str], at: int, which: int) -> list[str]:
    new = ["None", "not x", "f(x)", "self.other", '"text"', "0"][which % 6]
    return [*lines[:at], re.sub(r"= .*$", f"= {new}", lines[at]), *lines[at + 1 :]]


def _indent_block(lines: list[str], at: int, _: int) -> list[str]:
    """Put a statement under a condition."""
    indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    return [*lines[:at], f"{indent}if True:", "    " + lines[at], *lines[at + 1 :]]


def _one_line_branch(lines: list[str], at: int, _: int) -> list[str]:
    if not lines[at].rstrip().endswith(":") or at + 1 >= len(lines):
        return lines
    return [*lines[:at], f"{lines[at].rstrip()} {lines[at + 1].strip()}", *lines[at + 2 :]]


MUTATIONS: list[Mutation] = [
    _drop_line, _repeat_line, _comment, _trailing_comment, _join, _semicolon, _rename, _subscript,
    _swap_value, _indent_block, _one_line_branch,
]  # fmt: skip

DISGUISES: list[Callable[[str], bytes]] = [
    lambda text: text.encode(),
    lambda text: text.replace("\n", "\r\n").encode(),
    lambda text: text.replace("    ", "\t").encode(),
    lambda text: b"# caf\xe9\n" + text.encode(),
    lambda text: text.rstrip("\n").encode(),
]


def valid(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


@st.composite
def toys(draw: st.DrawFn) -> TextTree:
    """The toy with up to six changes that leave valid Python, some files in another style."""
    files = dict(FILES)
    for _ in range(draw(st.integers(1, 6))):
        path = draw(st.sampled_from(sorted(files)))
        lines = files[path].split("\n")
        mutate = draw(st.sampled_from(MUTATIONS))
        text = "\n".join(mutate(lines, draw(st.integers(0, len(lines) - 1)), draw(st.integers(0, 9))))
        if valid(text):
            files[path] = text
    return miniature.tree({path: draw(st.sampled_from(DISGUISES))(text) for path, text in files.items()})


CONTRACTS = list(REPAIRS)


@given(toys(), st.sampled_from(CONTRACTS), st.booleans())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_repair_leaves_valid_files_or_says_why(tree: TextTree, contract: str, causal: bool) -> None:
    keys = {"is_causal": True} if causal else {}
    made = repair(Program(tree), miniature.fault(contract, **keys))
    if isinstance(made, CannotRepair):
        assert made.reason
        assert made.instead
        return
    before = {path: tree.read(path) for path in by_path(made)}
    for path, content in edited_files(made, before).items():
        assert valid(content.decode("latin-1").lstrip("\xef\xbb\xbf")), content.decode("latin-1")
        ends = before[path].count(b"\r\n") == before[path].count(b"\n") > 0
        assert not ends or content.count(b"\r\n") == content.count(b"\n")


@given(toys())
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_what_is_generated_is_proven(tree: TextTree) -> None:
    ask = miniature.judge()
    before = ask(tree)
    faults: list[Fault] = [miniature.fault(contract) for contract in CONTRACTS]
    series = generate(tree, faults, ask, engine="toy", when=WHEN)
    named = {patch.contract for patch in series.patches} | set(series.covered)
    assert named | {refusal.contract for refusal in series.refused} == set(CONTRACTS)
    assert all(refusal.reason and refusal.instead for refusal in series.refused)
    assert first_failure(series) is None
    files: dict[str, bytes] = {}
    for patch in series.patches:
        assert patch.proof.applies
        assert patch.proof.reverses
        assert patch.proof.parses
        assert not patch.proof.worse
        files |= applied(patch_bytes(patch), {path: files.get(path, tree.read(path)) for path in patch.files})
    after = ask(PatchedTree(tree, dict(files)))
    for question, verdict in before.items():
        fixed = question[0] in named
        assert after[question] is (Verdict.HONOURED if fixed else verdict), question
