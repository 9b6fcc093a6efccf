"""Whether a query of the draft block sees the block's later tokens, as the drafter says.

A drafter may say it for all its layers: ``is_causal`` at the top of its config, or
``dflash_config.causal``; the first one wins. Where the engine asks neither, or only the second,
the repair lets it ask. Where a drafter says nothing, its windowed layers are causal and its full
ones are not; an engine with one metadata object for all of them would need more than a local
change. FlashAttention does it by the window alone, in releases that do not widen a window where the
metadata say non-causal.
"""

from collections.abc import Iterator

from tree_sitter import Node

from investigator.code.program import Module, Program
from investigator.code.syntax import descendants, enclosing, field, named, string_value, text
from investigator.model import Json
from investigator.patches.edits import Edit, Edits
from investigator.patches.pen import Pen, Unfit
from investigator.patches.repairs.fault import Fault
from investigator.patches.repairs.roles import (
    CLASS,
    FUNCTION,
    Found,
    calls,
    classes,
    found_in,
    keyword,
    method,
    names_in,
    positional,
    reads_of_key,
)

CONTRACT = "in-block-causality"
SUBJECT = "DFlash: let the draft config say whether a block is causal"
CHANGE = """\
A drafter says with is_causal, or with causal in its dflash_config, whether
its queries see the later tokens of their block; the first one wins. The
attention metadata of the draft pass now follows it. Drafters that say
nothing are served as before."""

TOP_KEY, KEY = "is_causal", "causal"
_FIELD = "self.block_is_causal"
_PROPOSER = "vllm/v1/spec_decode/dflash.py"
_USUAL = (
    _PROPOSER,
    "vllm/v1/worker/gpu/spec_decode/dflash/utils.py",
    "vllm/model_executor/models/qwen3_dflash.py",
)


def edit(program: Program, fault: Fault) -> Edits:
    """Ask the config where the engine assumes, or asks only one of the two keys."""
    said = _said(fault)
    if said is None:
        raise Unfit(
            "one attention metadata object serves every layer of the draft pass, and this drafter "
            "needs some of its layers causal and some not",
            "take the patch for layer-types and serve with FlashAttention: with it the window that a "
            "decoder layer gets ends at the query, so a windowed layer sees no later token of the block",
        )
    if said is False and any(window is not None for window in fault.checkpoint.windows or ()):
        raise Unfit("windowed layers that see the whole block need an attention window to both sides")
    places = found_in(program, [KEY, "dflash_config"], fault.hints(*_USUAL), _places)
    if not places:
        raise Unfit("no place assumes or asks whether a draft block is causal")
    return tuple(
        change
        for place in places
        for change in (_ask(place) if place.node.type == CLASS else _ask_top_key(place))
    )


def _said(fault: Fault) -> bool | None:
    config = fault.checkpoint.draft.normalised
    inner: Json = config.get("dflash_config")
    said = config.get(TOP_KEY)
    if said is None and isinstance(inner, dict):
        said = inner.get(KEY)
    return None if said is None else bool(said)


def _places(module: Module) -> list[Found]:
    """Functions that read the inner key, and classes that assume instead of asking."""
    askers = [
        Found(module, function)
        for function in descendants(module.file.root, FUNCTION)
        if _inner_reads(function)
    ]
    assuming = [cls for cls in classes(module) if "dflash" in text(cls.node).lower() and _assumptions(cls)]
    return askers + assuming


def _inner_reads(function: Node) -> list[Node]:
    return [read for read in reads_of_key(function, KEY) if "dflash_config" in text(read)]


def _ask_top_key(asker: Found) -> Iterator[Edit]:
    """Put the top-level key in front of the inner one."""
    if next(reads_of_key(asker.node, TOP_KEY), None) is not None:
        return
    config = _config_name(asker)
    for read in _inner_reads(asker.node):
        statement = asker.pen.statement(read)
        inner = named(statement)[0]
        if statement.type == "expression_statement" and inner.type == "assignment":
            target = text(field(inner, "left"))
            yield asker.pen.before(statement, f'{target} = getattr({config}, "{TOP_KEY}", None)')
            yield from _under(asker, statement, f"if {target} is None:")
        elif statement.type == "return_statement":
            yield asker.pen.before(
                statement,
                f'{TOP_KEY} = getattr({config}, "{TOP_KEY}", None)',
                f"if {TOP_KEY} is not None:",
                f"    return bool({TOP_KEY})",
            )
        else:
            raise Unfit(f"{asker.name} reads {KEY} in a way that leaves no room for another key")


def _under(asker: Found, statement: Node, condition: str) -> Iterator[Edit]:
    """The one-line statement, one level deeper, under a condition."""
    if statement.start_point.row != statement.end_point.row:
        raise Unfit(f"{asker.name} reads {KEY} over more than one line")
    pen, indent = asker.pen, asker.pen.indent(statement)
    yield pen.replace(statement, f"{condition}{pen.end}{indent}{pen.unit}{text(statement)}")


def _config_name(asker: Found) -> str:
    """How the code names the draft config that holds ``dflash_config``."""
    scope = enclosing(asker.node, "class_definition") or asker.node
    for call in [*calls(asker.node, "getattr"), *calls(scope, "getattr")]:
        arguments = named(field(call, "arguments"))
        if len(arguments) > 1 and string_value(arguments[1]) == "dflash_config":
            return text(arguments[0])
    raise Unfit(f"{asker.name} does not take dflash_config from the draft config")


def _assumptions(cls: Found) -> list[Node]:
    values = (keyword(call, KEY) for call in calls(cls.node, "CommonAttentionMetadata"))
    return [value for value in values if value is not None and text(value) == "False"]


def _ask(proposer: Found) -> Iterator[Edit]:
    """Read the keys when the proposer is made, and use them where it assumes."""
    pen = proposer.pen
    init = method(proposer.node, "__init__")
    made = next(calls(init, "__init__"), None) if init is not None else None
    if init is None or made is None or "hf_config" in names_in(init):
        raise Unfit(f"{proposer.name} does not start in the way this repair knows")
    yield pen.after(
        pen.statement(made),
        f"hf_config = {_config_name(proposer)}",
        f'{TOP_KEY} = getattr(hf_config, "{TOP_KEY}", None)',
        f"if {TOP_KEY} is None:",
        f'    {TOP_KEY} = (getattr(hf_config, "dflash_config", None) or {{}}).get("{KEY}")',
        f"{_FIELD} = bool({TOP_KEY})",
    )
    for value in _assumptions(proposer):
        yield pen.replace(value, _FIELD)
        yield from _stale_comment(pen, value)
    for call in descendants(proposer.node, "call"):
        wanted = keyword(call, "use_non_causal") if field(call, "arguments").type == "argument_list" else None
        if wanted is not None and text(wanted) == "True":
            yield pen.replace(wanted, f"not {_FIELD}")
    for check in descendants(proposer.node, "assert_statement"):
        condition = named(check)[0]
        if condition.type == "comparison_operator" and text(condition).endswith("is False"):
            yield from _check_follows(pen, condition)


def _stale_comment(pen: Pen, value: Node) -> Iterator[Edit]:
    """A comment on the value's line that says what is not so any more."""
    argument = value.parent
    if argument is None:
        return
    following = argument.next_sibling
    while following is not None and following.start_point.row == value.start_point.row:
        if following.type == "comment" and KEY in text(following):
            before = following.prev_sibling or argument
            end = following.start_byte + len((following.text or b"").rstrip())
            yield Edit(pen.file.path, before.end_byte, end, b"")
        following = following.next_sibling


def _check_follows(pen: Pen, condition: Node) -> Iterator[Edit]:
    """``getattr(metadata, "causal", None) is False``: expect what the drafter says. Metadata that
    names no causality is causal."""
    asked = named(condition)[0]
    arguments = positional(asked) if asked.type == "call" else []
    if len(arguments) == 3 and string_value(arguments[1]) == KEY and text(arguments[2]) == "None":
        yield pen.replace(arguments[2], "True")
        yield pen.replace(named(condition)[1], _FIELD)
