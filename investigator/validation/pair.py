"""The pair that a validation runs: a target and its drafter, by name, by path or by Hub id."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any

from investigator.errors import IncompleteError, UsageError
from investigator.validation.extras import TRAINING, require
from investigator.validation.specs import MICRO, SPECS, TINY, PairSpec

MAX_CONFIG_BYTES = 4 << 20


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A target and its drafter, and how much text suits them.

    ``target`` and ``draft`` are folders, or Hub ids where ``local`` is False.
    """

    name: str
    target: str
    draft: str
    local: bool
    prompt_tokens: int = 512
    new_tokens: int = 256
    prompts: int = 32
    spec: PairSpec | None = None
    """Set for a pair of this project; its files need not be there yet to plan with it."""

    @property
    def draft_config(self) -> dict[str, Any]:
        """The drafter's ``config.json``; empty for a pair on the Hub."""
        return _config(Path(self.draft)) if self.local else {}

    @property
    def speculative_tokens(self) -> int:
        """Tokens per draft: the block without its first, 7 where no block size is known."""
        if self.spec is not None:
            return self.spec.block_size - 1
        config = self.draft_config
        inner = config.get("dflash_config")
        size = (inner if isinstance(inner, dict) else {}).get("block_size") or config.get("block_size") or 8
        if not isinstance(size, int) or not 2 <= size <= 1024:
            raise UsageError(f"{self.draft}: block_size is {size!r}", "give a drafter whose config names one")
        return size - 1

    @property
    def weight_bytes(self) -> int:
        """Bytes of both models' weights on disk; 0 when they are not here."""
        folders = (Path(self.target), Path(self.draft)) if self.local else ()
        return sum(file.stat().st_size for folder in folders for file in folder.glob("*.safetensors"))


def resolve_pair(text: str, cache: Path, *, train: Callable[[PairSpec, Path], None] | None) -> Pair:
    """``micro``, ``micro-full``, ``tiny`` (trained once, then kept in ``cache``), or ``TARGET,DRAFT``.

    With ``train`` None a ``tiny`` that is not in the cache is left untrained: good for a plan only.
    Raises UsageError, and what ``train`` raises.
    """
    if text in ("micro", "micro-full"):
        root = Path(str(resources.files("investigator.fixtures") / "micro_pair"))
        draft = root / ("draft" if text == "micro" else "draft-full")
        return _own(MICRO, text, root / "target", draft, prompts=16)
    if text == "tiny":
        folder = cache / f"tiny-{spec_hash(TINY)}"
        if train is not None and not (folder / "draft" / "config.json").is_file():
            train(TINY, folder)
        return _own(TINY, text, folder / "target", folder / "draft", prompts=64)
    target, comma, draft_text = text.partition(",")
    if not comma or not target or not draft_text:
        raise UsageError(
            f"cannot read the pair {text!r}", "write micro, tiny, or TARGET,DRAFT (folders or Hub ids)"
        )
    here = [Path(part).is_dir() for part in (target, draft_text)]
    if all(here):
        known = next((spec for spec in SPECS.values() if _is(spec, Path(draft_text))), None)
        if known is not None:
            return _own(known, _name(Path(draft_text)), Path(target), Path(draft_text), prompts=64)
        return Pair(name=_name(Path(draft_text)), target=target, draft=draft_text, local=True)
    if any(here) or any(part.count("/") != 1 or part.startswith((".", "/")) for part in (target, draft_text)):
        raise UsageError(
            f"the pair {text!r} is neither two folders nor two Hub ids",
            "give both as folders with config.json, or both as owner/name",
        )
    return Pair(name=draft_text.rpartition("/")[2], target=target, draft=draft_text, local=False)


def _name(draft: Path) -> str:
    """A folder's own name; that of the folder around it where it only says ``draft``."""
    whole = draft.resolve()
    return whole.parent.name if whole.name.startswith("draft") and whole.parent.name else whole.name


def spec_hash(spec: PairSpec) -> str:
    """Names a trained pair in the cache: another recipe is another pair."""
    return hashlib.sha256(json.dumps(asdict(spec), sort_keys=True).encode()).hexdigest()[:12]


def train_in_process(spec: PairSpec, folder: Path) -> None:
    """Train ``spec`` in a process of its own, into ``folder``, whole or not at all."""
    require("validate", *TRAINING, what=f"training the {spec.name} pair")
    part = folder.with_name(folder.name + ".part")
    try:
        part.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise IncompleteError(
            f"no pair can be kept in {part.parent}: {error.strerror}",
            "name a folder with --cache-dir or INVESTIGATE_CACHE_DIR",
        ) from error
    command = [sys.executable, "-m", "investigator.validation.train", spec.name, "--out", str(part)]
    outcome = subprocess.run(command, check=False)
    if outcome.returncode != 0:
        raise IncompleteError(
            f"training the {spec.name} pair ended with code {outcome.returncode}",
            "its own lines above say why; it is quick only on a GPU",
        )
    part.rename(folder)


def _own(spec: PairSpec, name: str, target: Path, draft: Path, prompts: int) -> Pair:
    pair = Pair(name=name, target=str(target), draft=str(draft), local=True)
    return replace(
        pair, prompt_tokens=spec.prompt_tokens, new_tokens=spec.new_tokens, prompts=prompts, spec=spec
    )


def _is(spec: PairSpec, draft: Path) -> bool:
    return bool(_config(draft) == json.loads(json.dumps(spec.draft_config())))


def _config(folder: Path) -> dict[str, Any]:
    file = folder / "config.json"
    try:
        if file.stat().st_size > MAX_CONFIG_BYTES:
            raise UsageError(
                f"{file} is larger than {MAX_CONFIG_BYTES:,} bytes", "give a model's config.json"
            )
        config = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"cannot read {file}: {error}", "give a folder that holds a model") from error
    if not isinstance(config, dict):
        raise UsageError(f"{file} holds no object", "give a folder that holds a model")
    return config
