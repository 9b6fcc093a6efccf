"""An id ``k`` of ``target_layer_ids`` means the output of decoder layer ``k``.

A target model's capture numbers count *boundaries*: number ``n`` is the residual stream after
``n`` layers. A runner that hands the ids on as they are taps one layer too early. The repair
adds one where the runner reads them. A config that was converted from another format may hold
capture numbers under the same key; there one is taken off, so that the key has one meaning.
"""

from collections.abc import Iterator

from tree_sitter import Node

from investigator.code.program import Module, Program
from investigator.code.syntax import descendants, enclosing, field, string_value, text
from investigator.patches.edits import Edit, Edits
from investigator.patches.pen import Pen, Unfit
from investigator.patches.repairs.fault import Fault
from investigator.patches.repairs.roles import FUNCTION, Found, found_in, reads_of_key

CONTRACT = "target-layer-offset"
SUBJECT = "DFlash: tap the target layers that the drafter was trained on"
CHANGE = """\
dflash_config counts decoder layers from 0, while a target model captures
the residual stream after n layers. One is added where the runner reads
the ids. Configs converted from the speculators format, whose ids are
capture numbers already, store them one lower under the same key, so that
both ways of reading it agree."""

KEY = "target_layer_ids"
RAW_KEY = "eagle_aux_hidden_state_layer_ids"
_RUNNER = "vllm/v1/worker/gpu_model_runner.py"


def edit(program: Program, fault: Fault) -> Edits:
    """Add one to the ids where a runner reads them."""
    edits = [
        change
        for reader in readers(program, fault)
        for read in reads_of_key(reader.node, KEY)
        if not _is_shifted(read)
        for change in _shift(reader.pen, read)
    ]
    return (*edits, *_stored_one_lower(program)) if edits else ()


def readers(program: Program, fault: Fault) -> list[Found]:
    """The functions through which a runner of the fault learns what to capture. Raises Unfit."""
    found = found_in(program, [KEY, RAW_KEY], fault.hints(_RUNNER), _readers)
    if not found:
        raise Unfit(f"no function reads both {KEY} and {RAW_KEY}")
    return [reader for reader in found if fault.shows(reader.module.path, reader.node)] or found


def _readers(module: Module) -> list[Found]:
    """Functions that take the ids from either key."""
    return [
        Found(module, function)
        for function in descendants(module.file.root, FUNCTION)
        if next(reads_of_key(function, KEY), None) and next(reads_of_key(function, RAW_KEY), None)
    ]


def _is_shifted(read: Node) -> bool:
    """Whether the ids are counted from another number already where they are read."""
    around = enclosing(read, "list_comprehension", "generator_expression", "assignment", FUNCTION)
    if around is None or around.type not in ("list_comprehension", "generator_expression"):
        return False
    return field(around, "body").type != "identifier"


def _shift(pen: Pen, read: Node) -> Iterator[Edit]:
    ids = read.parent if read.parent is not None and read.parent.type == "boolean_operator" else read
    source = text(ids) if ids is not read else f"{text(read)} or []"
    statement = pen.statement(ids)
    why = f"{KEY} counts decoder layers from 0; a target model captures layer k's output as number k + 1."
    yield pen.before(statement, *pen.comment(statement, why))
    line = f"[i + 1 for i in {source}]"
    if not pen.fits(ids, line):
        indent = pen.indent(statement)
        line = f"[{pen.end}{indent}{pen.unit}i + 1 for i in {source}{pen.end}{indent}]"
    yield pen.replace(ids, line)


def _stored_one_lower(program: Program) -> list[Edit]:
    """Where a converter stores capture numbers under both keys, take one off under ours."""
    edits = []
    for path in program.tree.paths():
        if "speculators" not in path or not path.endswith(".py"):
            continue
        module = program.module_at(path)
        if module is None:
            continue
        for function in descendants(module.file.root, FUNCTION):
            raw = {
                text(field(stored, "right"))
                for stored in descendants(function, "assignment")
                if text(field(stored, "left")).endswith((f'["{RAW_KEY}"]', f"['{RAW_KEY}']"))
                and stored.child_by_field_name("right") is not None
            }
            for pair in descendants(function, "pair"):
                value = field(pair, "value")
                if string_value(field(pair, "key")) == KEY and text(value) in raw:
                    edits.append(
                        Found(module, function).pen.replace(value, f"[i - 1 for i in {text(value)}]")
                    )
    return edits
