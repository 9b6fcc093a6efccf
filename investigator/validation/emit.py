"""Write an experiment as a folder that runs anywhere the engine is, with nothing of this project.

::

    experiment.json   what to measure: variants, pair, prompts, options, pre-image hashes
    overlays/<variant>/vllm/...   only the patched files; run.py lays them over the installed engine
    pair/target, pair/draft       the models, when they are folders here
    prompts.json      token ids
    run.py            runs every variant, one process each; finished ones are not run again
    harness.py        one variant inside the engine
    reference/        one variant of the reference semantics (torch and safetensors)
    README.md         for the person who carries it there
"""

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from investigator.errors import PatchError, UsageError
from investigator.model import Json
from investigator.patches.git import applied, touched_paths
from investigator.sources.interface import Tree
from investigator.validation import prompts as prompt_rows
from investigator.validation.pair import Pair
from investigator.validation.plan import Kind, Plan, Variant

PROGRAMS = {"conductor.py": "run.py", "harness.py": "harness.py"}
REFERENCE = "reference"
"""The folder of the reference's program; there it imports its own modules by their bare names."""
_MODEL_FILES = ("*.json", "*.safetensors", "*.txt", "*.model", "*.jinja")


@dataclass(frozen=True, kw_only=True)
class Repair:
    """One patch of a run, by the contract that it repairs. ``keeps``: the contracts that its proof
    found honoured, which may be more."""

    contract: str
    name: str
    content: bytes
    keeps: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Everything that an experiment folder is made from.

    ``engine`` is a requirement such as ``vllm==0.20.1``, or None when only the reference runs.
    """

    plan: Plan
    pair: Pair
    prompts: prompt_rows.Prompts
    new_tokens: int
    engine: str | None = None
    package: str = "vllm"
    repairs: tuple[Repair, ...] = ()
    method: str = "dflash"
    options: Mapping[str, Json] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    broken: tuple[str, ...] = ()
    """Contracts that the findings call broken: what the measurement is held against."""
    investigated: str | None = None
    """The drafter that the findings are about, which need not be the one that is measured."""
    place: str = "local"
    reference_device: str = "cpu"
    reference_dtype: str = "float32"
    time_limit: float = 600.0


def emit(experiment: Experiment, folder: Path, tree: Tree | None = None) -> Path:
    """Write the folder. ``tree`` holds the engine that the patches were made for.

    Raises UsageError for a folder that is not empty and PatchError for a combination of patches
    that does not apply.
    """
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty", "name a new folder, or read results back with --collect")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results").mkdir()
    here = Path(__file__).parent
    for source, name in PROGRAMS.items():
        shutil.copyfile(here / source, folder / name)
    (folder / REFERENCE).mkdir()
    for module in (here / REFERENCE).glob("*.py"):
        text = module.read_text(encoding="utf-8").replace(f"investigator.validation.{REFERENCE}.", "")
        (folder / REFERENCE / module.name).write_text(text, encoding="utf-8")
    before: dict[str, str] = {}
    if tree is not None:
        for variant in experiment.plan.variants:
            if variant.kind is Kind.ENGINE and variant.repaired:
                files = patched(tree, [r for r in experiment.repairs if r.contract in variant.repaired])
                for path, content in files.items():
                    target = folder / "overlays" / variant.name / path
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(content)
                    if path in tree.paths():
                        before[path] = hashlib.sha256(tree.read(path)).hexdigest()
    if experiment.pair.local:
        _copy_model(Path(experiment.pair.target), folder / "pair" / "target")
        _copy_model(Path(experiment.pair.draft), folder / "pair" / "draft")
    (folder / "prompts.json").write_text(json.dumps(experiment.prompts))
    document = as_json(experiment, before)
    (folder / "experiment.json").write_text(json.dumps(document, indent=1) + "\n")
    (folder / "README.md").write_text(_readme(experiment))
    return folder


def patched(tree: Tree, repairs: Sequence[Repair]) -> dict[str, bytes]:
    """The files that these patches change, as they are after all of them. Raises PatchError."""
    files: dict[str, bytes] = {}
    known = frozenset(tree.paths())
    for repair in repairs:
        for path in touched_paths(repair.content):
            if path not in files and path in known:
                files[path] = tree.read(path)
        try:
            files |= applied(repair.content, files)
        except PatchError as error:
            names = ", ".join(r.contract for r in repairs)
            raise PatchError(
                f"{repair.name} does not apply in the combination {names}: {error}", error.advice
            ) from error
    touched = {path for repair in repairs for path in touched_paths(repair.content)}
    return {path: content for path, content in files.items() if path in touched}


def as_json(experiment: Experiment, before: Mapping[str, str]) -> dict[str, Json]:
    """``experiment.json``."""
    pair = experiment.pair
    longest = max(len(row) for row in experiment.prompts)
    # A draft may stand past the last token that is kept, so there is a block of room to spare.
    room = longest + experiment.new_tokens + 4 * (pair.speculative_tokens + 1)
    return {
        "schema": 1,
        "engine": {"requirement": experiment.engine, "package": experiment.package},
        "pair": {
            "name": pair.name,
            "target": "pair/target" if pair.local else pair.target,
            "draft": "pair/draft" if pair.local else pair.draft,
        },
        "method": experiment.method,
        "speculative_tokens": pair.speculative_tokens,
        "prompts": "prompts.json",
        "prompt_count": len(experiment.prompts),
        "prompts_sha256": prompt_rows.digest(experiment.prompts),
        "new_tokens": experiment.new_tokens,
        "max_model_len": room,
        "options": dict(experiment.options),
        "environment": dict(experiment.environment),
        "reference_device": experiment.reference_device,
        "reference_dtype": experiment.reference_dtype,
        "memory_bytes": max((e.memory_bytes for e in experiment.plan.estimates.values()), default=1 << 30),
        "parallel": experiment.plan.parallel,
        "place": experiment.place,
        "broken": list(experiment.broken),
        "investigated": experiment.investigated,
        "before": dict(before),
        "repairs": [
            {"contract": repair.contract, "patch": repair.name, "keeps": list(repair.keeps)}
            for repair in experiment.repairs
        ],
        "variants": [_variant(v, experiment.time_limit) for v in experiment.plan.variants],
        "cut": list(experiment.plan.cut),
    }


def read_variants(document: Mapping[str, Json]) -> tuple[Variant, ...]:
    """The variants of an ``experiment.json`` that was read back."""
    rows = document["variants"]
    if not isinstance(rows, list):
        raise UsageError("experiment.json names no variants", "give a folder that --emit wrote")
    return tuple(
        Variant(
            name=str(row["name"]),
            kind=Kind(row["kind"]),
            repaired=tuple(row["repaired"]),
            faults=tuple(row["faults"]),
            speculation=bool(row["speculation"]),
        )
        for row in rows
    )


def _variant(variant: Variant, limit: float) -> dict[str, Json]:
    row: dict[str, Json] = asdict(variant)
    patches = variant.kind is Kind.ENGINE and bool(variant.repaired)
    return row | {"overlay": f"overlays/{variant.name}" if patches else None, "time_limit": limit}


def _copy_model(source: Path, target: Path) -> None:
    target.mkdir(parents=True)
    for pattern in _MODEL_FILES:
        for file in source.glob(pattern):
            shutil.copyfile(file, target / file.name)


def _readme(experiment: Experiment) -> str:
    engine = experiment.engine or "torch and safetensors"
    names = "\n".join(f"- `{v.name}` ({v.kind})" for v in experiment.plan.variants)
    pair = experiment.pair
    source = (
        "Nothing is downloaded." if pair.local else "The pair comes from the Hub, nothing else is downloaded."
    )
    return f"""# An experiment to run where the engine is

It measures the acceptance length of **{experiment.pair.name}** on **{engine}** in these variants:

{names}

On the machine with the engine, with the Python that imports it:

    python run.py

About {max(1, round(experiment.plan.seconds / 60))} min. One process per variant; nothing that is installed is
changed, patched files are laid over the engine through `PYTHONPATH`. A variant that dies, hangs or
runs out of memory is reported and the rest go on. Run it again after an interruption: what is
finished is not run again. {source}

Then bring the folder back (only `results/` has changed) and read it:

    investigate validate --collect DIR
"""
