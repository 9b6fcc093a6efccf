"""investigation.json follows its schema and says what the investigation says."""

import json
from datetime import datetime, timedelta, timezone

import jsonschema
import pytest

from investigator.model import Known, NotKnown, Refused, Unsupported
from investigator.reports import json_report
from tests.support import builders

VALIDATOR = jsonschema.Draft202012Validator(
    json_report.schema(), format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER
)


def written(investigation):
    return json.loads(json_report.render(investigation))


def test_the_document_follows_the_schema_and_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(json_report.schema())

    VALIDATOR.validate(written(builders.investigation()))


@pytest.mark.parametrize(
    ("outcome", "document"),
    [
        (Known({"1": 2}), {"kind": "known", "value": {"1": 2}}),
        (Known(None), {"kind": "known", "value": None}),
        (Refused("ValueError: no"), {"kind": "refused", "error": "ValueError: no"}),
        (Unsupported("no such method"), {"kind": "unsupported", "reason": "no such method"}),
        (NotKnown("too many steps"), {"kind": "not-known", "reason": "too many steps"}),
    ],
)
def test_each_kind_of_outcome_is_told_apart(outcome, document):
    investigation = builders.investigation(answers=(builders.answer(outcome=outcome),))

    VALIDATOR.validate(written(investigation))
    assert written(investigation)["answers"][0]["outcome"] == document


def test_the_fields_that_others_rely_on():
    document = written(builders.investigation())

    assert document["schema"] == 1
    assert document["case"]["engine"] == "vllm==0.20.1"
    assert document["default_runner"] == "v1"
    finding = document["findings"][0]
    assert (finding["contract"], finding["runner"], finding["verdict"]) == (
        "target-layer-offset",
        "v1",
        "broken",
    )
    assert finding["agents"] == ["vllm", "reference"]
    assert finding["evidence"][0] == {
        "source": "vllm",
        "path": "vllm/runner.py",
        "line": 2,
        "end_line": 2,
        "quote": "    return ids",
        "role": "ids go out unshifted",
        "recorded_from": "",
        "url": "https://code.example/vllm/blob/v0.20.1/vllm/runner.py#L2",
    }
    assert finding["remedies"][1]["kind"] == "patch"


def test_a_patch_is_named_and_its_text_left_to_its_file():
    (patch,) = written(builders.investigation())["patches"]

    assert patch["path"] == "patches/0001-shift.patch"
    assert "text" not in patch


def test_times_are_utc_and_numbers_are_numbers():
    there = datetime(2026, 10, 1, 14, 0, 0, 123456, tzinfo=timezone(timedelta(hours=2)))

    assert json_report.plain({"at": there, "n": [1.5, float("nan"), float("inf")]}) == {
        "at": "2026-10-01T12:00:00.123Z",
        "n": [1.5, "nan", "inf"],
    }


def test_what_is_not_of_the_model_is_refused():
    with pytest.raises(TypeError, match="object is not part of the model"):
        json_report.plain([object()])


@pytest.mark.parametrize(
    ("field", "wrong"), [("default_runner", "v3"), ("schema", 2), ("findings", None), ("sources", [{}])]
)
def test_the_schema_refuses_another_shape(field, wrong):
    document = written(builders.investigation()) | {field: wrong}

    assert list(VALIDATOR.iter_errors(document))
