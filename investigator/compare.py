"""Two engines, one drafter: promise by promise, who keeps it, and what lies between them.

Asking is :func:`ask`; everything after it is a function of the two sides' findings and texts.
"""

import builtins
import difflib
import keyword
import re
import textwrap
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from tree_sitter import Node

from investigator.agents.engine import EngineDesk
from investigator.agents.quoting import answer_of
from investigator.checkpoint import Checkpoint
from investigator.code.syntax import ParsedFile, descendants, enclosing, field, parse, text
from investigator.comparison import Change, Comparison, Row, Side
from investigator.engines.registry import EngineKnown
from investigator.engines.remembered import Memory
from investigator.evidence_check import check_evidence
from investigator.model import Answer, Evidence, Finding, Remedy, Role, Runner, Verdict
from investigator.sources.interface import Tree
from investigator.synthesizer import synthesize

BAD = (Verdict.BROKEN, Verdict.PARTIAL, Verdict.REFUSED)
MOST_LINES = 60
"""Lines of one function's difference that are shown."""
CONTEXT = 2
_WORD = re.compile(r"[A-Za-z_]\w*")
_ANYWHERE = frozenset([*keyword.kwlist, *dir(builtins), "self", "config"])
"""Words of code that say nothing about what it is about."""

Question = tuple[str, Runner | None]


@dataclass(frozen=True)
class Asked:
    """One engine's side, and the tree that it was read from."""

    side: Side
    tree: Tree


def ask(name: str, kind: EngineKnown, tree: Tree, memory: Memory, others: Sequence[Answer]) -> Asked:
    """Put every question to one engine; blocking. ``others``: the drafter's and the references'
    answers. Every quote is read again. Raises what reading the engine's files raises."""
    desk = EngineDesk(kind, memory, tree)
    told = [
        answer_of(found, tree, contract=contract, role=Role.ENGINE, agent=kind.name, runner=runner)
        for contract, runner, found in desk.every()
    ]
    check_evidence([quote for answer in told for quote in answer.evidence], {tree.source.id: tree})
    findings = synthesize([*told, *others], memory.checkpoint)
    side = Side(
        name=name,
        source=tree.source,
        runner=desk.default_runner().runner,
        findings=findings,
        settings=_settings(kind, tree, memory.checkpoint, findings),
    )
    return Asked(side, tree)


def _settings(
    kind: EngineKnown, tree: Tree, checkpoint: Checkpoint, findings: Iterable[Finding]
) -> dict[str, tuple[Remedy, ...]]:
    """Ways around the faults of an engine whose settings are known."""
    from investigator.code.program import Program
    from investigator.patches import Fault
    from investigator.patches.settings import settings_for

    if kind.name != "vllm":
        return {}
    listed = list(findings)
    bad = dict.fromkeys(f.contract for f in listed if f.verdict in BAD)
    faults = [
        Fault(
            contract=contract,
            checkpoint=checkpoint,
            findings=tuple(f for f in listed if f.contract == contract and f.verdict in BAD),
        )
        for contract in bad
    ]
    verdicts = {(f.contract, f.runner): f.verdict for f in listed}
    found = settings_for(Program(tree), faults, verdicts)
    return {
        contract: tuple(setting.remedy() for setting in found if setting.contract == contract)
        for contract in bad
    }


def compare(one: Asked, two: Asked, *, draft: str, target: str | None = None) -> Comparison:
    """Put two engines' findings next to each other, each on the runner that its engine uses.

    Between two trees of one engine, promises that differ on another runner are named as well,
    and what changed in the functions that the evidence stands in.
    """
    a, b = one.side, two.side
    rows = [_row(a, b, contract, a.runner, b.runner) for contract in _contracts(a, b)]
    if a.source.id == b.source.id:
        others = (_row(a, b, c, runner, runner, in_use=False) for c, runner in _other_runners(a, b))
        rows = [_with_changes(row, one, two) for row in (*rows, *(row for row in others if row.differs))]
    return Comparison(draft=draft, target=target, a=a, b=b, rows=tuple(rows))


def _contracts(a: Side, b: Side) -> list[str]:
    return list(dict.fromkeys(finding.contract for finding in (*a.findings, *b.findings)))


def _other_runners(a: Side, b: Side) -> Iterator[Question]:
    """Questions on a runner that at least one of two releases does not use by default."""
    for finding in a.findings:
        if finding.runner is not None and (finding.runner, finding.runner) != (a.runner, b.runner):
            yield finding.contract, finding.runner


def _row(
    a: Side, b: Side, contract: str, of_a: Runner | None, of_b: Runner | None, *, in_use: bool = True
) -> Row:
    one, two = a.finding(contract, of_a), b.finding(contract, of_b)
    row = Row(contract=contract, a=one, b=two, in_use=in_use)
    settings = [
        remedy
        for side, mine in ((a, one), (b, two))
        if (row.differs or row.differs_in_kind) and mine is not None and mine.verdict in BAD
        for remedy in side.settings.get(contract, ())
    ]
    return replace(row, settings=tuple(settings))


# -- the changed lines between ---------------------------------------------------------


def _with_changes(row: Row, one: Asked, two: Asked) -> Row:
    if not row.differs and not row.differs_in_kind:
        return row
    return replace(row, changes=tuple(_changes(row, one, two)))


def _changes(row: Row, one: Asked, two: Asked) -> Iterator[Change]:
    """The functions that the evidence of both sides stands in, where their texts differ in what the
    evidence is about; where none does, in anything."""
    shown = [*one.side.evidence(row.a), *two.side.evidence(row.b)]
    about = {word for each in shown for word in _WORD.findall(each.quote)} - _ANYWHERE
    before = dict(_functions(one.tree, one.side.evidence(row.a)))
    after = dict(_functions(two.tree, two.side.evidence(row.b)))
    changes = []
    for path, name in dict.fromkeys([*before, *after]):
        old = before.get((path, name)) or _function(one.tree, path, name)
        new = after.get((path, name)) or _function(two.tree, path, name)
        if old != new:
            changes.append((path, name, list(_hunks(old or "", new or ""))))
    fitting = [(path, name, [h for h in hunks if _is_about(h, about)]) for path, name, hunks in changes]
    for path, name, hunks in fitting if any(hunks for *_, hunks in fitting) else changes:
        if hunks:
            yield Change(path=path, function=name, diff=_shown(path, hunks))


def _functions(tree: Tree, evidence: Iterable[Evidence]) -> Iterator[tuple[tuple[str, str], str]]:
    """(path, qualified name) and text of each function that evidence stands in."""
    for shown in evidence:
        if not shown.path.endswith(".py"):
            continue
        node = _node_at(parse(shown.path, tree.read(shown.path)), shown.line)
        if node is not None:
            yield (shown.path, _name(node)), _whole(node)


def _node_at(file: ParsedFile, line: int) -> Node | None:
    """The innermost function that a line's first statement stands in, or begins."""
    row = file.lines[line - 1]
    begin = (line - 1, len(row) - len(row.lstrip()))
    node = file.root.descendant_for_point_range(begin, begin)
    return enclosing(node, "function_definition") if node is not None else None


def _name(node: Node) -> str:
    names = [text(field(node, "name"))]
    around = enclosing(node, "class_definition", "function_definition")
    while around is not None:
        names.append(text(field(around, "name")))
        around = enclosing(around, "class_definition", "function_definition")
    return ".".join(reversed(names))


def _function(tree: Tree, path: str, name: str) -> str | None:
    """The text of a function by its qualified name; None when the tree has none such there."""
    if path not in tree.paths():
        return None
    root = parse(path, tree.read(path)).root
    for node in descendants(root, "function_definition"):
        if _name(node) == name:
            return _whole(node)
    return None


def _whole(node: Node) -> str:
    """A function's text, flush left."""
    return textwrap.dedent(f"{' ' * node.start_point.column}{text(node)}")


def _hunks(old: str, new: str) -> Iterator[list[str]]:
    """The hunks of the difference of two texts."""
    hunk: list[str] = []
    for line in list(difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=CONTEXT))[2:]:
        if line.startswith("@@") and hunk:
            yield hunk
            hunk = []
        hunk.append(line)
    if hunk:
        yield hunk


def _is_about(hunk: Iterable[str], words: Collection[str]) -> bool:
    changed = (line[1:] for line in hunk if line[0] in "+-")
    return any(word in words for line in changed for word in _WORD.findall(line))


def _shown(path: str, hunks: Iterable[Iterable[str]]) -> str:
    lines = [f"--- a/{path}", f"+++ b/{path}", *(line for hunk in hunks for line in hunk)]
    left = len(lines) - MOST_LINES
    return "\n".join(lines[:MOST_LINES] + ([f"... {left} more lines"] if left > 0 else []))
