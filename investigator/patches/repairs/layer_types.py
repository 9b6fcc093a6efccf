"""Each draft layer attends through its own window, from ``layer_types`` and ``sliding_window``.

The window bounds what a query *reads*. What is *kept* must stay everything: the context K/V of
the whole block is written ahead of the queries, and a layer whose window reached the KV-cache
planner would have it recycled. So the window goes into the attention, and is taken off the
attention object once that has built its implementation, before the planner asks it.
"""

from tree_sitter import Node

from investigator.checkpoint import Checkpoint
from investigator.code.program import Module, Program
from investigator.code.syntax import descendants, enclosing, field, named, text
from investigator.model import Json
from investigator.patches.edits import Edits
from investigator.patches.pen import Unfit
from investigator.patches.repairs import window_end
from investigator.patches.repairs.fault import Fault
from investigator.patches.repairs.roles import (
    Found,
    assignments,
    attribute_reads,
    calls,
    classes,
    found_in,
    function_of,
    keyword,
    keyword_only,
    method,
    methods,
    names_in,
    only,
    parameters,
    resolve,
)

CONTRACT = "layer-types"
SUBJECT = "DFlash: give each draft layer its own attention window"
CHANGE = """\
Each draft layer takes its window from layer_types and sliding_window of
the draft config, by its index among the draft layers, and hands it to its
attention. The KV cache of a windowed layer stays allocated like that of a
full one: the drafter writes the context K/V of a block before the queries
run, and a windowed spec would let those blocks be recycled. Where the
attention backend would let the window of a pass that is not causal reach
ahead as well, it ends at the query, as in training, unless the draft
config says whether a block is causal. Drafters without layer_types, or
with only full layers, are served as before."""

ENGINE_WINDOW = "per_layer_sliding_window"
WINDOW = "sliding_window"
INDEX = "layer_idx"
_MODEL = "vllm/model_executor/models/qwen3_dflash.py"


def edit(program: Program, fault: Fault) -> Edits:
    """Thread each layer's window from the config to the engine's attention."""
    _check_source_of_windows(fault.checkpoint)
    attention = only(
        found_in(
            program, ["DFlash", "Attention("], fault.hints(_MODEL), lambda m: _attention_classes(program, m)
        ),
        "attention class of the draft model",
    )
    inner = _inner_attention(program, attention)
    if keyword(inner, ENGINE_WINDOW) is not None:
        return ()
    attribute = _planned_attribute(program, attention, inner)
    layer, made_attention = _constructor(attention, "builds the draft's attention")
    _, made_layer = _constructor(layer, "builds the draft's layers")
    index = _index_of(made_layer)
    config = _config_name(made_attention)
    init, inner_init = function_of(made_attention), function_of(inner)
    for function, name in ((init, WINDOW), (inner_init, WINDOW), (init, INDEX), (init, "layer_types")):
        if name in names_in(function) or keyword(made_attention, WINDOW) is not None:
            raise Unfit(f"the draft model uses the name {name} for something already")
    pen = attention.pen
    built, made = pen.statement(inner), pen.statement(made_attention)
    kept, reached = (text(field(named(statement)[0], "left")) for statement in (built, made))
    marker = "" if keyword_only(init) else "*, "
    return (
        *pen.parameter(inner_init, f"{WINDOW}: int | None = None"),
        *pen.argument(inner, f"{ENGINE_WINDOW}={WINDOW}"),
        pen.after(
            built,
            f"if {WINDOW} is not None:",
            "    # The window bounds what is read, not what is kept: context K/V is",
            "    # written ahead of the queries, so no block of it may be recycled.",
            f"    {kept}.{attribute} = None",
        ),
        *pen.parameter(init, f"{marker}{INDEX}: int"),
        pen.before(
            made,
            f'layer_types = getattr({config}, "layer_types", None)',
            f"{WINDOW} = None",
            f'if layer_types is not None and layer_types[{INDEX}] == "sliding_attention":',
            f"    {WINDOW} = {config}.sliding_window",
        ),
        *pen.argument(made_attention, f"{WINDOW}={WINDOW}"),
        *pen.argument(made_layer, f"{INDEX}={index}"),
        *window_end.edits(
            program,
            fault,
            pen=pen,
            made=made,
            attention=f"{reached}.{kept.removeprefix('self.')}",
            config=config,
        ),
    )


def _check_source_of_windows(checkpoint: Checkpoint) -> None:
    """Raise Unfit unless the drafter's windows are those of the two keys that the repair reads."""
    if checkpoint.windows is None or checkpoint.layer_types is None:
        raise Unfit("this drafter names no window for its layers")
    window: Json = checkpoint.draft.normalised.get(WINDOW)
    expected = tuple(window if kind == "sliding_attention" else None for kind in checkpoint.layer_types)
    if checkpoint.windows != expected:
        raise Unfit("this drafter's windows come from other keys than layer_types and sliding_window")


def _attention_classes(program: Program, module: Module) -> list[Found]:
    """Classes that build the engine's attention layer."""
    return [cls for cls in classes(module) if any(_engine_attentions(program, cls))]


def _engine_attentions(program: Program, cls: Found) -> list[tuple[Node, Found]]:
    """Calls in a class that build an attention layer which can be given a window of its own."""
    found = []
    for call in descendants(cls.node, "call"):
        name = text(field(call, "function"))
        if not name.isidentifier() or "Attention" not in name:
            continue
        target = resolve(program, cls.module, name)
        init = method(target.node, "__init__") if target else None
        if target and init and ENGINE_WINDOW in parameters(init):
            found.append((call, target))
    return found


def _inner_attention(program: Program, attention: Found) -> Node:
    built = _engine_attentions(program, attention)
    if len(built) != 1:
        raise Unfit(f"{attention.name} builds {len(built)} attention layers")
    return built[0][0]


def _planned_attribute(program: Program, attention: Found, inner: Node) -> str:
    """The attribute through which the KV-cache planner learns a layer's window.

    It may be cleared after construction only if nothing else asks it: the implementation must
    have its window by then. Raises Unfit where that cannot be seen.
    """
    statement = enclosing(inner, "assignment")
    if statement is None or field(statement, "right") != inner:
        raise Unfit(f"{attention.name} does not keep its attention layer in an attribute")
    engine = resolve(program, attention.module, text(field(inner, "function")))
    init = method(engine.node, "__init__") if engine else None
    planner = method(engine.node, "get_kv_cache_spec") if engine else None
    if engine is None or init is None or planner is None:
        raise Unfit("the attention layer does not describe its KV cache itself")
    if not assignments(init, "self.impl"):
        raise Unfit("the attention layer builds its implementation later than itself")
    for kept in descendants(init, "assignment"):
        target, value = field(kept, "left"), kept.child_by_field_name("right")
        if target.type != "attribute" or value is None or value.type != "identifier":
            continue
        sources = {text(field(a, "right")) for a in assignments(init, text(value))} | {text(value)}
        if ENGINE_WINDOW in sources and attribute_reads(planner, text(target)):
            others = [m for m in methods(engine.node) if m not in (init, planner)]
            if any(attribute_reads(other, text(target)) for other in others):
                raise Unfit("the attention layer asks for its window again after it was built")
            return text(target).removeprefix("self.")
    raise Unfit("the KV-cache planner does not ask the attention layer for its window")


def _constructor(made: Found, what: str) -> tuple[Found, Node]:
    """The one class of the same file that builds ``made``, and the call that does."""
    found = [
        (cls, call)
        for cls in classes(made.module)
        for call in calls(cls.node, made.name)
        if cls.node != made.node
    ]
    if len(found) != 1:
        raise Unfit(f"{len(found) or 'no'} call {what}")
    return found[0]


def _index_of(call: Node) -> str:
    """The loop variable that counts the draft's layers from 0 where ``call`` builds one each."""
    loop = enclosing(
        call, "list_comprehension", "generator_expression", "for_statement", "function_definition"
    )
    clauses = [] if loop is None else [loop, *(n for n in named(loop) if n.type == "for_in_clause")]
    for clause in clauses:
        left, right = clause.child_by_field_name("left"), clause.child_by_field_name("right")
        if left is None or right is None or left.type != "identifier" or right.type != "call":
            continue
        if text(field(right, "function")) == "range" and len(named(field(right, "arguments"))) == 1:
            return text(left)
    raise Unfit("the draft's layers are not built in a loop over range(number of layers)")


def _config_name(call: Node) -> str:
    """How the code around ``call`` names the draft config."""
    heads = keyword(call, "num_heads")
    if heads is None or not text(heads).endswith(".num_attention_heads"):
        raise Unfit("the draft's attention is not built from the draft config")
    return text(heads).removesuffix(".num_attention_heads")
