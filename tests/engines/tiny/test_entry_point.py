"""An engine that another package brings: found by name, recognised by its tree, asked like any other."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from investigator.case import Case, EngineSpec, RepoSpec
from investigator.cli import invoke
from investigator.engines import registry
from investigator.errors import UsageError
from investigator.model import Verdict
from investigator.sources.open import Workspace
from investigator.team import compared, recognised
from tests.engines.tiny import tree
from tests.support.mini_reference import FILES as REFERENCE

ENTRY = "tests.engines.tiny.engine:ENGINE"


def install(site: Path, engines: str) -> None:
    """What pip leaves of a distribution that brings engines."""
    info = site / "tinyllm_engine-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tinyllm-engine\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{registry.GROUP}]\n{engines}\n")


@pytest.fixture
def brings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    """Install a distribution that brings these engines, for the length of a test."""
    registry.known.cache_clear()

    def bring(engines: str) -> None:
        install(tmp_path / "site", engines)
        monkeypatch.syspath_prepend(tmp_path / "site")

    yield bring
    registry.known.cache_clear()


def test_an_engine_is_found_through_its_entry_point(brings) -> None:
    brings(f"tinyllm = {ENTRY}")

    assert registry.names() == ("vllm", "sglang", "tinyllm")
    assert registry.known("tinyllm").questions == (("target-layer-offset", None), ("layer-types", None))
    assert len(registry.reading_code_of("tinyllm")) == 64  # its own code is part of what answers rest on


def test_an_engine_that_nobody_brings() -> None:
    with pytest.raises(UsageError, match="no engine named tinyllm is known") as told:
        registry.known("tinyllm")

    assert told.value.advice == "known are vllm, sglang"


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ("no.such.module:ENGINE", "cannot be loaded from no.such.module:ENGINE: ModuleNotFoundError"),
        ("json:dumps", "json:dumps is no investigator.engines.registry.EngineKnown"),
    ],
)
def test_an_entry_point_that_brings_no_engine(brings, entry: str, why: str) -> None:
    brings(f"tinyllm = {entry}")

    with pytest.raises(UsageError, match=why) as told:
        registry.known("tinyllm")

    assert told.value.advice == "update or uninstall the package that brings it"


@pytest.fixture
def place(tmp_path: Path, brings) -> Path:
    """Two releases of TinyLLM, a drafter with its target, and training code for it."""
    brings(f"tinyllm = {ENTRY}")
    for version in ("1.0", "2.0"):
        tree.write(tmp_path / version, version)
    for name, config in (("draft", tree.DRAFT), ("target", tree.TARGET)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(json.dumps(config))
    for name, text in REFERENCE.items():
        (tmp_path / "reference" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "reference" / name).write_text(text)
    return tmp_path


def case(place: Path, version: str) -> Case:
    return Case(
        engine=EngineSpec.parse(f"path:{place / version}"),
        draft=RepoSpec.parse(f"path:{place / 'draft'}"),
        target=RepoSpec.parse(f"path:{place / 'target'}"),
        references=(f"path:{place / 'reference'}",),
        pull_requests=(),
    )


def test_a_folder_is_recognised_by_its_package(place: Path) -> None:
    workspace = Workspace.open(cache_dir=place / "cache", offline=True)

    assert recognised(case(place, "1.0").engine, workspace).name == "tinyllm"


def test_a_folder_of_two_engines_is_asked_about(place: Path) -> None:
    (place / "1.0" / "vllm").mkdir()
    (place / "1.0" / "vllm" / "__init__.py").touch()
    workspace = Workspace.open(cache_dir=place / "cache", offline=True)

    with pytest.raises(UsageError, match="holds vllm and tinyllm") as told:
        recognised(case(place, "1.0").engine, workspace)

    assert told.value.advice == "name one package's own folder: path:.../tinyllm"


def test_two_releases_are_compared(place: Path) -> None:
    workspace = Workspace.open(cache_dir=place / "cache", offline=True)

    with workspace.transport:
        found = compared(case(place, "1.0"), case(place, "2.0"), workspace)

    rows = {row.contract: row for row in found.rows}
    assert list(rows) == ["target-layer-offset", "layer-types"]  # nothing is said about what it is not asked
    assert [f.verdict for f in (rows["target-layer-offset"].a, rows["target-layer-offset"].b)] == [
        Verdict.BROKEN,
        Verdict.HONOURED,
    ]
    assert rows["target-layer-offset"].a.why == "every tap is one layer too early"
    (change,) = rows["target-layer-offset"].changes
    assert change.function == "plan_taps"
    assert '+    return [number + 1 for number in config.dflash_config["target_layer_ids"]]' in change.diff


def test_the_command_asks_it_like_any_other(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = case(place, "1.0")
    code = invoke(
        [
            "run",
            "--offline",
            "--cache-dir",
            str(place / "cache"),
            *("--engine", str(asked.engine), "--draft", str(asked.draft), "--target", str(asked.target)),
            *("--reference", asked.references[0], "--format", "json", "--out", str(place / "found")),
        ]
    )

    document = json.loads(capsys.readouterr().out)
    assert code == 1
    assert {f["contract"]: f["verdict"] for f in document["findings"]} == {
        "target-layer-offset": "broken",
        "layer-types": "broken",
    }
    assert [agent["name"] for agent in document["agents"]][:2] == ["tinyllm", "hub"]
