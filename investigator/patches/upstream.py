"""A regression test to go with a patch upstream, in the engine's own test style.

Only where no GPU and no model is needed: where the repaired code can be called with plain objects.
The test names what the repair found in this tree, so it fits the tree that the patch fits.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import takewhile
from types import MappingProxyType

from tree_sitter import Node

from investigator.code.program import Module, Program
from investigator.code.syntax import enclosing, field, named, string_value, text
from investigator.patches.pen import WIDTH, Unfit
from investigator.patches.repairs import cache_drop, target_layer_offset
from investigator.patches.repairs.fault import Fault
from investigator.patches.repairs.roles import CLASS, Found, assignments, calls
from investigator.patches.repairs.speculative_config import speculative_config

_INDENT = " " * 4


@dataclass(frozen=True)
class TestFile:
    """A test file to be added."""

    __test__ = False
    path: str
    content: bytes


def regression_test(program: Program, fault: Fault) -> TestFile | None:
    """A test that fails on ``program`` before the repair of ``fault`` and passes after it.

    ``program`` is the repaired one. None where such a test would need a GPU or a model.
    """
    write = _WRITERS.get(fault.contract)
    try:
        return write(program, fault) if write else None
    except (Unfit, SyntaxError):
        return None


def _offset(program: Program, fault: Fault) -> TestFile | None:
    """Ask the method that reads the ids what is to be captured."""
    reader = target_layer_offset.readers(program, fault)[0]
    owner = enclosing(reader.node, CLASS)
    if owner is None:
        return None
    cls = text(field(owner, "name"))
    config = _chain(_config_of(reader))
    return TestFile(
        "tests/v1/spec_decode/test_dflash_target_layer_ids.py",
        f'''{_head(reader.module)}"""Which of the target's layers a DFlash drafter is given."""

from types import SimpleNamespace

import pytest

from {reader.module.dotted} import {cls}


@pytest.mark.parametrize(
    ("keys", "captured"),
    [
        # Ids of decoder layers: the output of layer k is captured as number k + 1.
        ({{"dflash_config": {{"target_layer_ids": [1, 16, 31]}}}}, (2, 17, 32)),
        # Numbers to capture, as EAGLE configs give them: taken as they are.
        ({{"eagle_aux_hidden_state_layer_ids": [2, 17]}}, (2, 17)),
        ({{}}, None),
    ],
)
def test_captured_layers(keys, captured):
    runner = {_nested(config, "SimpleNamespace(**keys)")}
    assert {cls}.{reader.name}(runner) == captured
'''.encode(),
    )


def _head(module: Module) -> str:
    """The comment lines that the engine's own files begin with: its licence header."""
    lines = [line.decode("utf-8", "replace") for line in module.file.lines]
    return "".join(f"{line}\n" for line in takewhile(lambda line: line.startswith("#"), lines))


def _config_of(reader: Found) -> Node:
    """The expression for the draft config that the reader asks for the raw key."""
    for call in calls(reader.node, "getattr"):
        arguments = named(field(call, "arguments"))
        if len(arguments) > 1 and string_value(arguments[1]) == target_layer_offset.RAW_KEY:
            return _origin(reader, arguments[0])
    raise Unfit("the reader does not ask the draft config with getattr")


def _origin(reader: Found, node: Node) -> Node:
    """What a local variable was assigned from."""
    if node.type != "identifier":
        return node
    sources = [field(assignment, "right") for assignment in assignments(reader.node, text(node))]
    if len(sources) != 1:
        raise Unfit("the draft config has more than one origin")
    return sources[0]


def _chain(node: Node) -> list[str]:
    """``self.a.b.c`` as ``["a", "b", "c"]``."""
    parts = text(node).split(".")
    if parts[0] != "self" or not all(part.isidentifier() for part in parts):
        raise Unfit("the draft config is not an attribute of the runner")
    return parts[1:]


def _nested(chain: list[str], innermost: str, *, before: str = "runner = ", depth: int = 1) -> str:
    """Plain objects inside each other, broken into lines as a formatter breaks them."""
    flat = innermost
    for name in reversed(chain):
        flat = f"SimpleNamespace({name}={flat})"
    if not chain or len(_INDENT * depth + before + flat) <= WIDTH:
        return flat
    inner = _nested(chain[1:], innermost, before=f"{chain[0]}=", depth=depth + 1)
    return f"SimpleNamespace(\n{_INDENT * (depth + 1)}{chain[0]}={inner}\n{_INDENT * depth})"


def _drop(program: Program, fault: Fault) -> TestFile:
    """Ask the predicate that now decides the drop."""
    config = speculative_config(program, fault)
    predicate = cache_drop.deciding_predicate(program, fault)
    return TestFile(
        "tests/v1/spec_decode/test_last_matched_block.py",
        f'''{_head(config.module)}"""Which drafters have the last matched prefix-cache block dropped."""

import pytest

from {config.module.dotted} import {config.name}


@pytest.mark.parametrize(
    ("method", "drops"),
    [("eagle", True), ("mtp", True), ("{fault.checkpoint.method}", False), ("ngram", False)],
)
def test_last_matched_block(method, drops):
    config = object.__new__({config.name})
    config.method = method
    assert config.{predicate}() is drops
'''.encode(),
    )


_WRITERS: Mapping[str, Callable[[Program, Fault], TestFile | None]] = MappingProxyType(
    {target_layer_offset.CONTRACT: _offset, cache_drop.CONTRACT: _drop}
)
