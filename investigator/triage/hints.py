"""What a symptom says about the case, so that nothing has to be typed twice."""

import re
from dataclasses import dataclass, field

from investigator.case import EngineSpec, RepoSpec
from investigator.checkpoint import MTP_METHOD
from investigator.errors import UsageError
from investigator.triage.collect import draft_tokens, drafts_with_mtp, settings_of, whole
from investigator.triage.symptom import Symptom

_RELEASE = re.compile(r"\d+(?:\.\d+){1,3}(?:\.?(?:post|rc)\d+)?\Z")


@dataclass(frozen=True, kw_only=True)
class CaseHints:
    """A partial case; None where the input does not say.

    ``engine``, ``draft`` and ``target`` are spelled as ``--engine``, ``--draft`` and ``--target`` take
    them. ``method``: ``mtp`` where the model drafts with MTP layers, of its own unless ``draft`` names
    others; any other method is for the drafter's config to say. ``block_size`` is the deployment's:
    draft tokens + 1 (the anchor). ``environment`` holds engine variables only, ``flags`` those flags of
    ``server`` (an engine's name) that answers follow. ``notes`` say what was seen and could not be used.
    """

    engine: str | None = None
    draft: str | None = None
    target: str | None = None
    method: str | None = None
    draft_tokens: int | None = None
    block_size: int | None = None
    environment: dict[str, str] = field(default_factory=dict)
    server: str | None = None
    flags: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def case_hints(symptom: Symptom) -> CaseHints:
    """The case as far as the input tells it."""
    notes: list[str] = []
    tokens = draft_tokens(symptom)
    return CaseHints(
        engine=_engine(symptom, notes),
        draft=_repo(symptom, "draft", notes),
        target=_repo(symptom, "target", notes),
        method=MTP_METHOD if drafts_with_mtp(symptom) else None,
        draft_tokens=tokens,
        block_size=whole(symptom.setting("block-size")) or (tokens + 1 if tokens else None),
        environment=_environment(symptom),
        server=symptom.setting("engine"),
        flags={s.name.removeprefix("flag:"): s.value for s in settings_of(symptom, "flag:")},
        notes=tuple(notes),
    )


def _engine(symptom: Symptom, notes: list[str]) -> str | None:
    name, version = symptom.setting("engine"), symptom.setting("version")
    if version is None:
        return None
    release = version.partition("+")[0]
    if not _RELEASE.match(release):
        notes.append(
            f"engine version {version} is no release on the package index; give --engine git:URL@REF"
        )
        return None
    return str(EngineSpec.parse(f"{name or 'vllm'}=={release}"))


def _repo(symptom: Symptom, name: str, notes: list[str]) -> str | None:
    said = symptom.setting(name)
    if said is None:
        return None
    revision = symptom.setting(f"{name}-revision")
    try:
        return str(RepoSpec.parse(f"{said}@{revision}" if revision and "@" not in said else said))
    except UsageError:
        notes.append(
            f"the {name} is {said}, which is no Hub repository; give --{name} path:DIR if it is a folder here"
        )
        return None


def _environment(symptom: Symptom) -> dict[str, str]:
    found = {s.name.removeprefix("env:"): s.value for s in settings_of(symptom, "env:")}
    runner = symptom.setting("runner")
    if runner and "VLLM_USE_V2_MODEL_RUNNER" not in found:
        found["VLLM_USE_V2_MODEL_RUNNER"] = "1" if runner == "v2" else "0"
    return found
