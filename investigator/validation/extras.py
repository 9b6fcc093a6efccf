"""What a measurement needs beside this package, and what to say where it is missing."""

from importlib.util import find_spec

from investigator.errors import IncompleteError

MEASURING = ("torch", "safetensors", "tokenizers")
"""What the reference semantics import."""

TRAINING = (*MEASURING, "numpy")
"""What the training of a pair imports, the whole extra ``validate``: safetensors writes through numpy."""


def require(extra: str, *modules: str, what: str) -> None:
    """Look for ``modules`` without importing them. Raises IncompleteError that names the extra."""
    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        raise IncompleteError(
            f"{what} needs {' and '.join(missing)}, not installed in this environment",
            f"pip install 'drafter-investigator[{extra}]'",
        )
