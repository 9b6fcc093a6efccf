"""A validation from the request to the exit code, on the miniature engine."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from investigator.cli import invoke
from investigator.errors import ContradictionError, IncompleteError, UsageError
from investigator.sources.folder import open_folder
from investigator.validation import conclusion, service
from investigator.validation.emit import Experiment, Repair
from investigator.validation.from_run import RunRecord, read_run
from investigator.validation.launchers.interface import Destination, Where
from investigator.validation.launchers.local import LocalLauncher
from investigator.validation.pair import Pair, resolve_pair
from tests.validation.conftest import rewrite

HUB = Pair(name="draft", target="someone/target", draft="someone/draft", local=False)


def run_record(repairs: tuple[Repair, ...]) -> RunRecord:
    return RunRecord(
        folder=Path("run"), engine="vllm==0.20.1", draft="someone/draft", target=None, runner="v1",
        broken=tuple(r.contract for r in repairs), honoured=(), repairs=repairs,
    )  # fmt: skip


def measured(folder: Path, site: Path) -> None:
    service.execute(LocalLauncher(environment={"PYTHONPATH": str(site)}), folder, lambda line: None)


def test_from_the_folder_to_the_figures(folder: Path, site: Path, tmp_path: Path) -> None:
    measured(folder, site)
    assessment, document = conclusion.collect(folder)
    conclusion.write(assessment, document, tmp_path / "out")
    conclusion.conclude(assessment)
    written = json.loads((tmp_path / "out" / "validation.json").read_text())
    assert written["schema"] == 1
    lengths = {v["variant"]["name"]: v["acceptance_length"]["value"] for v in written["variants"][:4]}
    # 12 of 301 drafts have one token accepted as released: 1 + 12 / 301.
    assert lengths["as-released"] == pytest.approx(1.03987)
    assert lengths["as-released"] < lengths["only-layer-types"] < lengths["all-repairs"]
    assert sum(row[1] for row in written["counters_by_prompt"]["as-released"]) == 301
    text = (tmp_path / "out" / "validation.md").read_text()
    assert text.startswith("## What each repair brings back\n")
    assert "| as-released | 1.04 " in text
    for chart in ("acceptance-length.svg", "by-position.svg"):
        assert (tmp_path / "out" / chart).read_text().startswith("<svg ")


def test_findings_that_the_figures_contradict_end_in_exit_code_5(
    folder: Path, site: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    measured(folder, site)
    # As if the repairs had been measured the other way round.
    results = folder / "results"
    texts = {name: (results / f"{name}.json").read_text() for name in ("as-released", "all-repairs")}
    for name, other in (("as-released", "all-repairs"), ("all-repairs", "as-released")):
        (results / f"{name}.json").write_text(
            texts[other].replace(f'"variant": "{other}"', f'"variant": "{name}"')
        )
    rewrite(folder, broken=["layer-types", "target-layer-offset"])
    assessment, _ = conclusion.collect(folder)
    with pytest.raises(ContradictionError, match="its repair lowers acceptance length"):
        conclusion.conclude(assessment)
    assert invoke(["validate", "--collect", str(folder), "--out", str(tmp_path / "out")]) == 5
    assert "its repair lowers acceptance length" in capsys.readouterr().err


def test_a_variant_without_a_result_makes_the_validation_incomplete(folder: Path, site: Path) -> None:
    measured(folder, site)
    (folder / "results" / "only-layer-types.json").unlink()
    assessment, _ = conclusion.collect(folder)
    with pytest.raises(IncompleteError, match=r"not measured: only-layer-types \(missing\)"):
        conclusion.conclude(assessment)


def test_the_same_experiment_keeps_its_results_and_another_starts_anew(
    experiment: Experiment, site: Path, tmp_path: Path
) -> None:
    tree = open_folder(site, "vllm")
    place = service.prepare(experiment, tmp_path / "validation", tree)
    (place / "results" / "as-released.json").write_text("{}")
    service.prepare(experiment, place, tree)
    assert (place / "results" / "as-released.json").exists()
    service.prepare(replace(experiment, new_tokens=50), place, tree)
    assert not (place / "results" / "as-released.json").exists()


def test_a_folder_of_something_else_is_not_replaced(
    experiment: Experiment, site: Path, tmp_path: Path
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("keep")
    with pytest.raises(UsageError, match="holds no experiment"):
        service.prepare(experiment, tmp_path / "mine", open_folder(site, "vllm"))
    assert (tmp_path / "mine" / "thesis.tex").read_text() == "keep"


def test_an_engine_needs_a_run_and_the_reference_needs_the_files() -> None:
    with pytest.raises(UsageError, match="which engine"):
        service.plan_of(service.Request(pair=HUB, on=Destination(where=Where.LOCAL)))
    with pytest.raises(UsageError, match="needs the pair's files"):
        service.plan_of(service.Request(pair=HUB, on=Destination(where=Where.CPU)))


def test_only_some_repairs_can_be_asked_for(repairs: tuple[Repair, ...]) -> None:
    asked = service.Request(pair=HUB, on=Destination(where=Where.LOCAL), run=run_record(repairs))
    only = replace(asked, repairs=("layer-types",))
    assert [v.name for v in service.plan_of(only).variants] == [
        "as-released",
        "all-repairs",
        "no-speculation",
    ]
    with pytest.raises(UsageError, match="no patch for rope") as caught:
        service.plan_of(replace(asked, repairs=("rope",)))
    assert caught.value.advice == "it has: target-layer-offset, layer-types"


def test_contracts_that_change_no_draft_are_named_as_unpredicted(repairs: tuple[Repair, ...]) -> None:
    record = replace(run_record(repairs), broken=("layer-types", "cache-drop"))
    asked = service.Request(pair=HUB, on=Destination(where=Where.CPU), run=record)
    assert service.unmodelled(asked) == {"cache-drop": "it does not change what one request drafts"}


def test_a_wrong_rotary_base_is_not_predicted_as_a_wrong_layout(
    repairs: tuple[Repair, ...], tmp_path: Path
) -> None:
    record = replace(run_record(repairs), broken=("layer-types", "rope"), otherwise=("rope",))
    asked = service.Request(pair=HUB, on=Destination(where=Where.CPU), run=record)

    assert service.unmodelled(asked) == {
        "rope": "it is broken in another way than the reference can be run with"
    }
    local = replace(asked, pair=resolve_pair("micro", tmp_path, train=None))
    assert {fault for variant in service.plan_of(local).variants for fault in variant.faults} == {
        "layer-types"
    }


@pytest.mark.parametrize(
    ("engine", "otherwise"),
    [
        ({"layout": "halves", "theta": 1, "from": "draft"}, ("rope",)),
        ({"layout": "pairs", "theta": 1, "from": "target"}, ()),
        ({"layout": None, "theta": 1, "from": "target"}, ()),
        (None, ()),
    ],
)
def test_how_rope_is_broken_is_read_off_the_answers(
    tmp_path: Path, engine: dict[str, object] | None, otherwise: tuple[str, ...]
) -> None:
    def answer(role: str, runner: str | None, value: object) -> dict[str, object]:
        outcome = {"kind": "known", "value": value} if value is not None else {"kind": "not-known"}
        return {"contract": "rope", "role": role, "runner": runner, "outcome": outcome}

    answers = [
        answer("reference", None, {"layout": "halves", "theta": 10000}),
        answer("checkpoint", None, {"theta": 10000}),
        answer("engine", "v1", engine),
        answer("engine", "v2", {"layout": "halves", "theta": 10000, "from": "draft"}),
    ]
    document = {
        "case": {"engine": "vllm==1", "draft": "o/d"},
        "default_runner": "v1",
        "findings": [{"contract": "rope", "runner": "v1", "verdict": "broken"}],
        "patches": [],
        "answers": answers,
    }
    (tmp_path / "investigation.json").write_text(json.dumps(document))

    record = read_run(tmp_path)
    assert (record.broken, record.otherwise) == (("rope",), otherwise)


def test_what_the_findings_hold_for_is_set_where_it_is_measured() -> None:
    """The runner may be chosen by the environment: another one would be measured else."""
    record = replace(run_record(()), environment={"VLLM_USE_V2_MODEL_RUNNER": "0", "A": "1"})
    request = service.Request(
        pair=HUB, on=Destination(where=Where.LOCAL), run=record, prompt_file=None, environment={"A": "2"}
    )

    assert service.environment_of(request) == {"VLLM_USE_V2_MODEL_RUNNER": "0", "A": "2"}


def test_findings_about_the_pair_itself_are_said_to_be(tmp_path: Path) -> None:
    draft = tmp_path / "own" / "draft"
    pair = replace(HUB, name="own", draft=str(draft), local=True)
    record = replace(run_record(()), draft=f"path:{draft}")

    assert service.investigated(record, pair) == "own"
    assert service.investigated(run_record(()), pair) == "someone/draft"


FLAGS = {
    "--attention-config.backend": "TRITON_ATTN",
    "--no-enable-prefix-caching": "",
    "--enforce-eager": "",
}


def test_a_run_folder_gives_what_is_broken_for_its_runner(tmp_path: Path) -> None:
    (tmp_path / "patches").mkdir()
    (tmp_path / "patches" / "0001-a.patch").write_bytes(b"diff")
    findings = [
        {"contract": "a", "runner": "v1", "verdict": "broken"},
        {"contract": "a", "runner": "v2", "verdict": "unsupported"},
        {"contract": "b", "runner": None, "verdict": "partial"},
        {"contract": "c", "runner": "v1", "verdict": "honoured"},
        {"contract": "d", "runner": "v2", "verdict": "broken"},
    ]
    (tmp_path / "investigation.json").write_text(
        json.dumps({
            "case": {
                "engine": "vllm==1", "draft": "o/d", "target": None, "environment": {"X": "0"},
                "flags": FLAGS,
            },
            "default_runner": "v1", "findings": findings,
            "patches": [
                {"name": "../0001-a.patch", "contract": "a", "proof": {"repaired": ["a/v1", "b", "d/v2"]}},
            ],
        })
    )  # fmt: skip
    record = read_run(tmp_path)
    assert (record.broken, record.honoured) == (("a", "b"), ("c",))
    assert record.environment == {"X": "0"}
    assert record.options == {
        "attention_config": {"backend": "TRITON_ATTN"},
        "enable_prefix_caching": False,
        "enforce_eager": True,
    }
    assert record.repairs == (Repair(contract="a", name="0001-a.patch", content=b"diff", keeps=("a", "b")),)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"case": 1}'])
def test_what_is_no_investigation_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "investigation.json").write_text(text)
    with pytest.raises(UsageError, match="cannot read"):
        read_run(tmp_path)
    with pytest.raises(UsageError, match="is no run folder"):
        read_run(tmp_path / "elsewhere")


def test_a_run_about_mtp_layers_is_not_measured(tmp_path: Path) -> None:
    (tmp_path / "investigation.json").write_text(
        json.dumps({
            "case": {"engine": "vllm==1", "draft": "o/d", "target": None, "method": "mtp"},
            "default_runner": "v1", "findings": [], "patches": [],
        })
    )  # fmt: skip

    with pytest.raises(UsageError, match="is about MTP layers, and only drafters of whole blocks"):
        read_run(tmp_path)
