"""Two engines, one drafter: promise by promise, who keeps it, and what lies between them.

Asking is :func:`ask`; everything after it is a function of the two sides' findings and texts.
"""

import difflib
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from investigator.agents.engine import EngineDesk
from investigator.agents.quoting import answer_of
from investigator.checkpoint import Checkpoint
from investigator.code.syntax import ParsedFile, descendants, enclosing, field, parse, text
from investigator.engines.registry import EngineKnown
from investigator.engines.remembered import Memory
from investigator.evidence_check import check_evidence
from investigator.model import Answer, Evidence, Finding, Remedy, Role, Runner, Source, Verdict
from investigator.sources.interface import Tree
from investigator.synthesizer import synthesize

DONE = (Verdict.HONOURED, Verdict.BROKEN, Verdict.PARTIAL)
"""Verdicts about something that the engine does."""
BAD = (Verdict.BROKEN, Verdict.PARTIAL, Verdict.REFUSED)
MOST_LINES = 60
"""Lines of one function's difference that are shown."""
CONTEXT = 2

Question = tuple[str, Runner | None]


@dataclass(frozen=True, kw_only=True)
class Side:
    """One engine, asked. ``runner``: which one the case uses there by default; None where there is
    one path, or where that is not known. ``settings``: what avoids a fault, by contract."""

    name: str
    source: Source
    runner: Runner | None
    findings: tuple[Finding, ...]
    tree: Tree
    settings: Mapping[str, tuple[Remedy, ...]]

    def finding(self, contract: str, runner: Runner | None) -> Finding | None:
        """What was found out about a contract on a runner; None when it was not asked."""
        mine = [finding for finding in self.findings if finding.contract == contract]
        wanted = (runner, None) if runner is not None else (None, self.runner)
        return next((f for r in wanted for f in mine if f.runner is r), None)

    def evidence(self, finding: Finding | None) -> tuple[Evidence, ...]:
        """A finding's lines in the engine itself."""
        shown = finding.evidence if finding is not None else ()
        return tuple(each for each in shown if each.source == self.source.id)


@dataclass(frozen=True, kw_only=True)
class Change:
    """What became of one function from the first engine to the second, as a unified diff."""

    path: str
    function: str
    diff: str


@dataclass(frozen=True, kw_only=True)
class Row:
    """One promise on both sides. ``a``/``b`` None: that engine is not asked about it.

    ``in_use``: both findings are about the runner that the case uses there by default.
    ``settings``: what makes the side that does not keep it equal to the other.
    """

    contract: str
    a: Finding | None
    b: Finding | None
    in_use: bool = True
    settings: tuple[Remedy, ...] = ()
    changes: tuple[Change, ...] = ()

    @property
    def differs(self) -> bool:
        """Whether the two sides stand differently to the promise."""
        return self.a is not None and self.b is not None and self.a.verdict is not self.b.verdict

    @property
    def differs_in_kind(self) -> bool:
        """Whether both keep, or both break, the promise, each in its own way."""
        if self.differs or self.a is None or self.b is None or self.a.verdict not in DONE:
            return False
        return self.a.why != self.b.why


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Two engines side by side for one drafter."""

    draft: str
    target: str | None
    a: Side
    b: Side
    rows: tuple[Row, ...]

    @property
    def differences(self) -> tuple[Row, ...]:
        """The promises that the two keep differently, those in use first."""
        found = [row for row in self.rows if row.differs]
        return tuple(sorted(found, key=lambda row: not row.in_use))

    @property
    def undecided(self) -> tuple[Row, ...]:
        """Promises in use for which a side has no verdict."""
        return tuple(
            row
            for row in self.rows
            if row.in_use and any(f and f.verdict is Verdict.UNKNOWN for f in (row.a, row.b))
        )


def ask(name: str, kind: EngineKnown, tree: Tree, memory: Memory, others: Sequence[Answer]) -> Side:
    """Put every question to one engine; blocking. ``others``: the drafter's and the references'
    answers. Every quote is read again. Raises what reading the engine's files raises."""
    desk = EngineDesk(kind, memory, tree)
    told = [
        answer_of(found, tree, contract=contract, role=Role.ENGINE, agent=kind.name, runner=runner)
        for contract, runner, found in desk.every()
    ]
    check_evidence([quote for answer in told for quote in answer.evidence], {tree.source.id: tree})
    findings = synthesize([*told, *others], memory.checkpoint)
    return Side(
        name=name,
        source=tree.source,
        runner=desk.default_runner().runner,
        findings=findings,
        tree=tree,
        settings=_settings(kind, tree, memory.checkpoint, findings),
    )


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


def compare(a: Side, b: Side, *, draft: str, target: str | None = None) -> Comparison:
    """Put two sides' findings next to each other, each on the runner that its engine uses."""
    rows = [_row(a, b, contract, a.runner, b.runner) for contract in _contracts(a, b)]
    if a.source.id == b.source.id:
        for contract, runner in _other_runners(a, b):
            row = _row(a, b, contract, runner, runner, in_use=False)
            if row.differs:
                rows.append(row)
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
    if not row.differs and not row.differs_in_kind:
        return row
    settings = [
        remedy
        for side, mine in ((a, one), (b, two))
        if row.differs and mine is not None and mine.verdict in BAD
        for remedy in side.settings.get(contract, ())
    ]
    changes = tuple(_changes(a, b, one, two)) if a.source.id == b.source.id else ()
    return Row(contract=contract, a=one, b=two, in_use=in_use, settings=tuple(settings), changes=changes)


# -- the changed lines between ---------------------------------------------------------


def _changes(a: Side, b: Side, one: Finding | None, two: Finding | None) -> Iterator[Change]:
    """The functions that the evidence of both sides stands in, where their texts differ."""
    before = dict(_functions(a.tree, a.evidence(one)))
    after = dict(_functions(b.tree, b.evidence(two)))
    for path, name in dict.fromkeys([*before, *after]):
        old = before.get((path, name)) or _function(a.tree, path, name)
        new = after.get((path, name)) or _function(b.tree, path, name)
        if old != new:
            yield Change(path=path, function=name, diff=_difference(path, old or "", new or ""))


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


def _difference(path: str, old: str, new: str) -> str:
    lines = list(
        difflib.unified_diff(
            old.splitlines(), new.splitlines(), f"a/{path}", f"b/{path}", lineterm="", n=CONTEXT
        )
    )
    left = len(lines) - MOST_LINES
    shown = lines[:MOST_LINES] + ([f"... {left} more lines"] if left > 0 else [])
    return "\n".join(shown)
