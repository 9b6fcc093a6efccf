"""Settings that avoid a fault where no patch is needed, ready to be pasted into a shell.

A setting is offered only when this engine's own text knows it: the switch is a field of its
speculative config, the variable is read by its environment module, the flag is one of its
arguments. No version is asked.
"""

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from investigator.checkpoint import Checkpoint
from investigator.code.program import Program
from investigator.code.syntax import descendants, named, text
from investigator.code.syntax import field as child
from investigator.methods import described
from investigator.model import Json, Remedy, RemedyKind, Runner, Verdict
from investigator.patches.pen import Unfit
from investigator.patches.repairs.fault import Fault
from investigator.patches.repairs.roles import Found, method, methods
from investigator.patches.repairs.speculative_config import speculative_config
from investigator.patches.verify import Verdicts

RUNNER_VARIABLE = "VLLM_USE_V2_MODEL_RUNNER"
PREFIX_CACHING = "--enable-prefix-caching"
DRAFTS = "num_speculative_tokens"
_SPECULATIVE = "vllm/config/speculative.py"
_ENVIRONMENT = "vllm/envs.py"
_ARGUMENTS = "vllm/engine/arg_utils.py"


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One way around a fault. ``speculative``: keys for the ``--speculative-config`` JSON."""

    contract: str
    effect: str
    environment: Mapping[str, str] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    speculative: Mapping[str, Json] = field(default_factory=dict)

    @property
    def ref(self) -> str:
        """The setting alone, quoted for a shell."""
        words = [f"{key}={shlex.quote(value)}" for key, value in self.environment.items()]
        words += map(shlex.quote, self.flags)
        if self.speculative:
            words += ["--speculative-config", shlex.quote(json.dumps(dict(self.speculative)))]
        return " ".join(words)

    def remedy(self) -> Remedy:
        """The setting as a finding names it."""
        return Remedy(kind=RemedyKind.SETTING, ref=self.ref, effect=self.effect)


def serve_command(checkpoint: Checkpoint, settings: Sequence[Setting] = ()) -> str:
    """``vllm serve`` for this drafter with these settings, quoted for a shell.

    Drafts are as many as the block holds beside its first token, where the block size is known.
    """
    environment = {key: value for setting in settings for key, value in setting.environment.items()}
    speculative: dict[str, Json] = {"method": checkpoint.method, "model": checkpoint.draft.repo}
    if checkpoint.target is not None and checkpoint.target.repo == checkpoint.draft.repo:
        del speculative["model"]  # a model that drafts for itself
    if checkpoint.draft_tokens is not None:
        speculative["num_speculative_tokens"] = checkpoint.draft_tokens
    for setting in settings:
        speculative |= setting.speculative
    flags = dict.fromkeys(flag for setting in settings for flag in setting.flags)
    target = checkpoint.target.repo if checkpoint.target else "TARGET"
    return " ".join(
        [
            *(f"{key}={shlex.quote(value)}" for key, value in environment.items()),
            *map(shlex.quote, ["vllm", "serve", target, "--speculative-config", json.dumps(speculative)]),
            *map(shlex.quote, flags),
        ]
    )


def settings_for(program: Program, faults: Sequence[Fault], verdicts: Verdicts) -> tuple[Setting, ...]:
    """Settings that avoid these faults on this engine. ``verdicts``: what the questions answered."""
    found = [*_other_runner(program, faults, verdicts)]
    for fault in faults:
        if fault.contract == "cache-drop" and described(fault.checkpoint).reads_next:
            continue  # this drafter needs the drop
        if fault.contract == "cache-drop":
            found += _switch(program, fault)
        if fault.contract in ("cache-drop", "lookahead"):
            found += _no_prefix_cache(program, fault)
        if fault.contract == "config-coverage":
            found += _block_size(program, fault)
    return tuple(found)


def _other_runner(program: Program, faults: Sequence[Fault], verdicts: Verdicts) -> Iterator[Setting]:
    """The other model runner, where that one keeps the promise."""
    broken = [
        (fault.contract, finding.runner)
        for fault in faults
        for finding in fault.findings
        if finding.runner is not None
    ]
    for contract, runner in broken:
        other = Runner.V2 if runner is Runner.V1 else Runner.V1
        if verdicts.get((contract, other)) is Verdict.HONOURED and _knows(
            program, f'"{RUNNER_VARIABLE}"', _ENVIRONMENT
        ):
            yield Setting(
                contract=contract,
                environment={RUNNER_VARIABLE: "1" if other is Runner.V2 else "0"},
                effect=f"runs the {other.value.upper()} model runner, which keeps this promise",
            )


def _switch(program: Program, fault: Fault) -> Iterator[Setting]:
    """A field of the speculative config that ends the drop: one that a drop predicate negates."""
    try:
        config = speculative_config(program, fault)
    except Unfit:
        return
    for name in _negated_fields(config):
        if "drop" in name:
            yield Setting(
                contract=fault.contract,
                speculative={name: True},
                effect="keeps the last matched block; the engine calls it experimental in its log",
            )


def _negated_fields(config: Found) -> list[str]:
    """Fields of the config that one of its predicates reads as ``not self.field``."""
    declared = {
        text(child(node, "left"))
        for statement in named(child(config.node, "body"))
        for node in descendants(statement, "assignment")
        if statement.type == "expression_statement"
    }
    negated = dict.fromkeys(
        text(child(node, "argument")).removeprefix("self.")
        for predicate in methods(config.node)
        if predicate != method(config.node, "__init__")
        for node in descendants(predicate, "not_operator")
        if text(child(node, "argument")).startswith("self.")
    )
    return [name for name in negated if name in declared]


def _no_prefix_cache(program: Program, fault: Fault) -> Iterator[Setting]:
    effect = {
        "cache-drop": "no prefix is reused, so none is dropped: the fault sleeps, at the cost of all reuse",
        "lookahead": "no block is shared, so drafts overwrite no other request's, at the cost of all reuse",
    }[fault.contract]
    if _knows(program, f'"{PREFIX_CACHING}"', _ARGUMENTS):
        flag = PREFIX_CACHING.replace("--", "--no-", 1)
        yield Setting(contract=fault.contract, flags=(flag,), effect=effect)


def _block_size(program: Program, fault: Fault) -> Iterator[Setting]:
    """As many drafts as the checkpoint's block holds, for an engine that asks its user instead."""
    block = fault.checkpoint.block_size
    on_condition = any(finding.verdict is Verdict.PARTIAL for finding in fault.findings)
    if block is not None and on_condition and _knows(program, f"    {DRAFTS}: ", _SPECULATIVE):
        yield Setting(
            contract=fault.contract,
            speculative={DRAFTS: block - 1},
            effect=f"drafts what the block of {block} holds beside its first token",
        )


def _knows(program: Program, needle: str, hint: str) -> bool:
    """Whether the engine's own text holds this name."""
    if program.has(hint):
        return needle.encode() in program.tree.read(hint)
    return bool(program.mentioning([needle], ()))
