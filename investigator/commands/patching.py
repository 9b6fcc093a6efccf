"""What apply, revert and overlay share: which patches, and which folder on this machine."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from investigator.case import EngineKind, EngineSpec
from investigator.errors import InvestigateError, UsageError, what_is_wrong
from investigator.patches.git import MAX_PATCH_BYTES
from investigator.patches.plan import NamedPatch
from investigator.patches.receipt import FOLDER
from investigator.sources.folder import find_package, read_regular, user_path

MAX_INVESTIGATION = 64 << 20
_RECORD = "investigation.json"
_TESTS = "tests"
_RELEASED = ("wheel", "folder", "installation")
"""Kinds of source whose revision is a version, where it is known."""


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """The patches to put on ``package``, in the order in which they apply.

    ``version``: the engine's they were made for, where the run says so. ``serve``: what serves
    the run's drafter, to be pasted into a shell.
    """

    patches: tuple[NamedPatch, ...]
    package: str
    version: str | None = None
    serve: str | None = None


def choose(names: Sequence[Path], only: Sequence[str] = ()) -> Chosen:
    """The patches of a run folder, those of the contracts ``only`` alone, or the files named.

    Raises UsageError, and PatchError for a file that is no patch.
    """
    if len(names) == 1 and names[0].is_dir():
        return _of_run(names[0], only)
    if only:
        raise UsageError("--only chooses among the patches of a run", "name the patch files you want")
    folder = next((name for name in names if name.is_dir()), None)
    if folder is not None:
        raise UsageError(f"{folder} is a folder among patch files", "name one run folder, or patch files")
    patches = tuple(NamedPatch(name.name, _read(name, MAX_PATCH_BYTES)) for name in names)
    return Chosen(patches=patches, package=_package(patches))


def _of_run(folder: Path, only: Sequence[str]) -> Chosen:
    file = folder / _RECORD
    if not file.exists():
        raise UsageError(f"{folder} is no run folder: it holds no {_RECORD}", "name what a run wrote")
    try:
        document = json.loads(_read(file, MAX_INVESTIGATION))
        if document["schema"] != 1:
            raise ValueError(f"it has schema {document['schema']!r}, this program reads 1")
        contracts = {Path(str(row["name"])).name: str(row["contract"]) for row in document["patches"]}
        about = document.get("extra", {}).get("patch_series") or {}
        order = {str(name): tuple(map(str, below)) for name, below in about.get("order", {}).items()}
        covered = {str(contract): str(by) for contract, by in about.get("covered", {}).items()}
        serve = about.get("serve")
        versions = {str(row["id"]): _version(row) for row in document["sources"]}
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise UsageError(
            f"cannot read {file}: {what_is_wrong(error)}", "run the investigation again"
        ) from error
    if not contracts:
        raise UsageError(f"{folder} holds no patches", f"{file.with_name('report.md')} says why")
    wanted = _wanted(contracts, covered, only)
    missing = [low for name in wanted for low in order.get(name, ()) if low not in wanted]
    if missing:
        needed = " ".join(f"--only {contracts.get(name, name)}" for name in dict.fromkeys(missing))
        raise UsageError(f"{wanted[-1]} is written on top of {', '.join(missing)}", f"add {needed}")
    patches = tuple(NamedPatch(name, _read(folder / "patches" / name, MAX_PATCH_BYTES)) for name in wanted)
    package = _package(patches)
    return Chosen(
        patches=patches,
        package=package,
        version=versions.get(package),
        serve=serve if isinstance(serve, str) else None,
    )


def _wanted(contracts: Mapping[str, str], covered: Mapping[str, str], only: Sequence[str]) -> list[str]:
    """The names of the patches for the contracts ``only``, or of all."""
    repaired = {covered.get(contract, contract) for contract in only}
    unknown = repaired - set(contracts.values())
    if unknown:
        raise UsageError(
            f"there is no patch for {', '.join(sorted(unknown))} in this run",
            f"there are patches for {', '.join(contracts.values())}",
        )
    return [name for name, contract in contracts.items() if not only or contract in repaired]


def _version(source: Mapping[str, Any]) -> str | None:
    """The version that a source of a run is of; None where its revision is none."""
    known = source["kind"] in _RELEASED and source["revision"] not in ("unknown", "local")
    return str(source["revision"]) if known else None


def _package(patches: Sequence[NamedPatch]) -> str:
    """The one package whose files the patches touch; tests beside it may be added."""
    tops = {path.partition("/")[0] for patch in patches for path in patch.touched()}
    packages = sorted(tops - {_TESTS})
    if len(packages) != 1:
        found = ", ".join(packages) or "no package"
        raise UsageError(f"the patches touch {found}", "name patches for one package")
    return packages[0]


def _read(path: Path, limit: int) -> bytes:
    """A file that the user named. Raises UsageError."""
    try:
        return read_regular(user_path(path), str(path), limit)
    except UsageError:
        raise
    except InvestigateError as error:
        raise UsageError(str(error), "name a run folder, or patch files") from error


# -- where -----------------------------------------------------------------------------


def root_of(text: str, package: str) -> Path:
    """The folder that holds ``package``: of DIR, ``installed``, or ``python:PATH``. Raises UsageError."""
    spec = _spec(text)
    if spec.kind is EngineKind.PATH:
        return find_package(user_path(spec.value), package).resolve()
    from investigator.sources.installation import open_installation

    return open_installation(Path(spec.value) if spec.kind is EngineKind.PYTHON else None, package).root


def patched_in(text: str) -> tuple[Path, str]:
    """The folder and the package in it that apply has patched (or may have). Raises UsageError."""
    from investigator.engines.registry import known, names

    spec = _spec(text)
    found = list(_receipts(user_path(spec.value))) if spec.kind is EngineKind.PATH else []
    error: UsageError | None = None
    for package in (known(name).folder for name in names()):
        try:
            found.append((root_of(text, package), package))
        except UsageError as nothing:
            error = error or nothing
    patched = sorted({(root, name) for root, name in found if (root / FOLDER / name).is_dir()})
    if len(patched) > 1:
        told = " and ".join(package for _, package in patched)
        raise UsageError(f"{told} are patched there", f"name one: {patched[0][0] / patched[0][1]}")
    if not found:
        assert error is not None
        raise error
    return (patched or found)[0]


def _receipts(given: Path) -> Iterator[tuple[Path, str]]:
    """What the receipts in and around a folder speak of, whether or not it is there any more."""
    beside = given.parent
    for root in (given, given / "src", given / "python", beside):
        if (root / FOLDER).is_dir():
            for entry in sorted((root / FOLDER).iterdir()):
                if entry.is_dir() and (root is not beside or entry.name == given.name):
                    yield root.resolve(), entry.name


def _spec(text: str) -> EngineSpec:
    if text == "installed" or text.startswith(("python:", "path:")):
        return EngineSpec.parse(text)
    return EngineSpec(EngineKind.PATH, text)
