"""An engine that is installed in a Python environment, read without importing it.

The environment's own interpreter is asked for one thing, its ``sys.path``; everything else is
read from the files it names.
"""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

from investigator.errors import NotFoundError, SourceError, UsageError
from investigator.model import SourceKind
from investigator.sources.folder import (
    FolderTree,
    distribution_folder,
    find_package,
    package_tree,
    read_regular,
    user_path,
)
from investigator.sources.index_page import file_url_path

ASK_TIMEOUT = 60.0
"""Seconds that an interpreter may take to say where it looks for packages."""

_QUESTION = "import sys; print(ascii(sys.path))"
"""Imports nothing that a file beside it could stand in for."""


def open_installation(python: Path | None, package: str) -> FolderTree:
    """The package as this environment (``python`` None) or another one has it installed.

    Its :meth:`~investigator.sources.folder.FolderTree.modified` names what was edited by hand.
    Raises UsageError when there is no such interpreter, or the package is not installed.
    """
    interpreter = Path(sys.executable) if python is None else user_path(python)
    folders = [Path(entry) for entry in search_path(interpreter)]
    name = f"{package} in {interpreter}"
    for folder in folders:
        dist_info = distribution_folder(folder, package)
        if dist_info is None:
            continue
        checkout = editable_location(folder / dist_info)
        if checkout is not None:
            version = dist_info.removesuffix(".dist-info").rpartition("-")[2]
            note = f"editable installation of {version}"
            root = find_package(checkout, package)
            return package_tree(root, package, name=str(checkout), kind=SourceKind.INSTALLATION, note=note)
        if (folder / package / "__init__.py").is_file():
            return package_tree(folder, package, name=name, kind=SourceKind.INSTALLATION)
    for folder in folders:
        if (folder / package / "__init__.py").is_file():
            note = "found on the interpreter's path, not installed"
            return package_tree(folder, package, name=name, kind=SourceKind.INSTALLATION, note=note)
    raise UsageError(
        f"{interpreter} has no {package} installed",
        f"name the interpreter that has it, python:/path/to/python; to read a release: {package}==VERSION",
    )


def search_path(interpreter: Path) -> tuple[str, ...]:
    """The folders where an interpreter looks for packages, in its order. Raises UsageError."""
    if not interpreter.is_file() or not os.access(interpreter, os.X_OK):
        raise UsageError(f"{interpreter} is no Python interpreter", "give python:/path/to/bin/python")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    if interpreter == Path(sys.executable):
        environment = dict(os.environ)
    try:
        answer = subprocess.run(
            [interpreter, "-c", _QUESTION],
            capture_output=True,
            timeout=ASK_TIMEOUT,
            check=True,
            stdin=subprocess.DEVNULL,
            env=environment,
        )
        entries = ast.literal_eval(answer.stdout.decode("ascii").splitlines()[-1])
    except (OSError, subprocess.SubprocessError, ValueError, SyntaxError, IndexError) as error:
        raise UsageError(
            f"{interpreter} does not say where it looks for packages: {type(error).__name__}",
            "does that interpreter start at all?",
        ) from error
    folders = dict.fromkeys(str(entry) for entry in entries if entry and Path(str(entry)).is_dir())
    return tuple(folders)


def editable_location(dist_info: Path) -> Path | None:
    """The checkout that an editable installation points at (PEP 610), or None."""
    try:
        said = json.loads(read_regular(dist_info / "direct_url.json", "direct_url.json"))
        if said["dir_info"]["editable"] and urlsplit(said["url"]).scheme == "file":
            return file_url_path(said["url"])
    except (NotFoundError, SourceError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return None
