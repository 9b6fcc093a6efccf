"""The folder that a run on the toy engine leaves, as far as apply, revert and overlay read it."""

import json
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from investigator.patches import Series, generate, patch_bytes
from investigator.reports import json_report
from tests.patches import miniature
from tests.support import builders

SERVE = 'vllm serve toy/target --speculative-config \'{"model": "toy/draft"}\''
NAMES = ["0001-target-layer-offset.patch", "0002-cache-drop.patch", "0003-lookahead.patch"]


@cache
def series(*, upstream: bool = False) -> Series:
    """Three patches, the last two touching one file."""
    return generate(
        miniature.tree(),
        [miniature.fault(contract) for contract in ("target-layer-offset", "cache-drop", "lookahead")],
        miniature.judge(),
        engine="vllm 1.0",
        when=datetime(2026, 4, 27, tzinfo=UTC),
        upstream=upstream,
    )


def write_run(folder: Path, *, version: str = "1.0", upstream: bool = False, **about: object) -> Path:
    """A run on the release ``version``; ``about`` replaces parts of what is said of the series."""
    made = series(upstream=upstream)
    investigation = builders.investigation(
        sources=(builders.source(revision=version), builders.source("draft")),
        patches=made.patches,
        extra={"patch_series": {**made.as_json(), "serve": SERVE, **about}},
    )
    (folder / "patches").mkdir(parents=True)
    for patch in made.patches:
        (folder / "patches" / patch.name).write_bytes(patch_bytes(patch))
    (folder / "investigation.json").write_text(json_report.render(investigation))
    return folder


def rewrite(folder: Path, **changes: object) -> None:
    """Put other values into the run's record."""
    file = folder / "investigation.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))
