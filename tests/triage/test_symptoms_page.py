"""docs/symptoms.md says what is so."""

import io
import re
from pathlib import Path

from investigator.reports.triage_section import plain_lines
from investigator.triage import judge, load_figures, read_symptom
from investigator.triage.shape import Shape
from investigator.triage.symptom import InputKind

PAGE = (Path(__file__).parents[2] / "docs" / "symptoms.md").read_text(encoding="utf-8")


def test_its_example_is_answered_as_it_says() -> None:
    log, said = re.findall(r"^```text\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)

    triage = judge(read_symptom(io.BytesIO(log.encode())), load_figures())

    lines = plain_lines(triage)
    assert [line for line in said.splitlines() if line not in lines] == []


def test_every_input_and_every_shape_is_in_its_tables() -> None:
    cells = [cell.strip() for line in PAGE.splitlines() for cell in line.split("|")[1:2]]
    named = {name for cell in cells for name in cell.split(", ")}

    assert {kind.value for kind in InputKind} <= named
    assert {shape.value for shape in Shape} <= named
