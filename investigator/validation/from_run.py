"""What a validation takes from an investigation: the engine, what is broken, the patches."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from investigator.checkpoint import MTP_METHOD
from investigator.errors import UsageError, what_is_wrong
from investigator.model import Json
from investigator.validation.emit import Repair

MAX_INVESTIGATION_BYTES = 64 << 20
_AT_FAULT = ("broken", "partial")


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """An investigation as far as a validation needs it.

    ``broken`` and ``honoured`` are contracts, for the runner that this case uses by default.
    ``otherwise``: those that are broken in another way than the reference can be run with.
    """

    folder: Path
    engine: str
    draft: str
    target: str | None
    runner: str | None
    broken: tuple[str, ...]
    honoured: tuple[str, ...]
    repairs: tuple[Repair, ...]
    otherwise: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    """What the deployment sets, which the findings hold for: it may choose the runner."""
    options: Mapping[str, Json] = field(default_factory=dict)
    """The engine options that the deployment's server flags stand for; the findings hold for them."""


def _option(flag: str, value: str) -> tuple[str, Json]:
    """A server flag as the option of the same name: a switch is true, its ``no-`` false, and what stands
    behind a dot is a key of an object."""
    name, _, key = flag.removeprefix("--").partition(".")
    negated = name.startswith("no-")
    given: Json = value if value and not negated else not negated
    return name.removeprefix("no-").replace("-", "_"), {key: given} if key else given


def read_run(folder: Path) -> RunRecord:
    """Read ``investigation.json`` and ``patches/`` of a run folder. Raises UsageError."""
    file = folder / "investigation.json"
    try:
        if file.stat().st_size > MAX_INVESTIGATION_BYTES:
            raise UsageError(f"{file} is larger than {MAX_INVESTIGATION_BYTES:,} bytes", "run again")
        document = json.loads(file.read_text(encoding="utf-8"))
        case, runner = document["case"], document["default_runner"]
        if case.get("method") == MTP_METHOD:
            raise UsageError(
                f"{folder} is about MTP layers, and only drafters of whole blocks are measured here",
                "compare the engine's own acceptance length with and without its settings",
            )
        verdicts = {
            str(f["contract"]): str(f["verdict"])
            for f in document["findings"]
            if f["runner"] in (runner, None)
        }
        repairs = tuple(_repair(folder, row, runner) for row in document["patches"])
        return RunRecord(
            folder=folder,
            engine=str(case["engine"]),
            draft=str(case["draft"]),
            target=case.get("target"),
            runner=runner,
            broken=tuple(c for c, verdict in verdicts.items() if verdict in _AT_FAULT),
            honoured=tuple(c for c, verdict in verdicts.items() if verdict == "honoured"),
            repairs=repairs,
            otherwise=("rope",) if _only_the_base(document.get("answers", ()), runner) else (),
            environment={str(name): str(value) for name, value in case.get("environment", {}).items()},
            options=dict(_option(str(name), str(value)) for name, value in case.get("flags", {}).items()),
        )
    except FileNotFoundError as error:
        raise UsageError(
            f"{folder} is no run folder: {error.filename} is not there",
            "give the folder that 'investigate run' wrote",
        ) from error
    except (OSError, AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise UsageError(
            f"cannot read {file}: {what_is_wrong(error)}", "run the investigation again"
        ) from error


def _only_the_base(answers: Sequence[Mapping[str, Json]], runner: Json) -> bool:
    """Whether the draft layers rotate in the layout that they were trained in: what is wrong with them is
    then the base, which the reference is not run with."""
    layouts: dict[str, set[str]] = {}
    for answer in answers:
        outcome = answer["outcome"]
        value = outcome.get("value") if isinstance(outcome, Mapping) else None
        if answer["contract"] == "rope" and answer["runner"] in (runner, None) and isinstance(value, Mapping):
            layouts.setdefault(str(answer["role"]), set()).add(str(value.get("layout")))
    trained = layouts.get("reference", set())
    return len(trained) == 1 and layouts.get("engine") == trained


def _repair(folder: Path, row: Mapping[str, Json], runner: Json) -> Repair:
    """One patch, with what its proof says of this runner."""
    name = Path(str(row["name"])).name
    proof = row.get("proof")
    repaired = proof.get("repaired") if isinstance(proof, Mapping) else None
    asked = [str(question).partition("/") for question in (repaired if isinstance(repaired, list) else [])]
    return Repair(
        contract=str(row["contract"]),
        name=name,
        content=(folder / "patches" / name).read_bytes(),
        keeps=tuple(contract for contract, _, where in asked if where in ("", runner)),
    )
