"""What the README says is so."""

import json
import re
from pathlib import Path

import pytest

from investigator import cli
from investigator.errors import EXIT_CODE_MEANINGS

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def test_every_exit_code_is_in_its_table():
    table = dict(re.findall(r"^\| (\d+) \| (.*) \|$", README, re.MULTILINE))

    assert {code: text.replace("`", "") for code, text in table.items()} == {
        str(code.value): meaning for code, meaning in EXIT_CODE_MEANINGS.items()
    }


def test_every_link_within_the_project_leads_somewhere():
    root = Path(__file__).parents[2]
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", README)

    assert links
    assert [link for link in links if not (root / link).exists()] == []


def test_every_command_that_it_shows_is_one():
    shown = re.findall(r"^investigate (\S+)", README, re.MULTILINE)
    top = cli.investigate
    run = {option for parameter in top.get_command(None, "run").params for option in parameter.opts}
    known = run | set(top.list_commands(None))

    assert [word for word in shown if word not in known] == []


@pytest.mark.network
def test_the_excerpt_is_what_a_run_says(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("INVESTIGATE_CACHE_DIR", str(tmp_path / "cache"))
    excerpt = re.findall(r"^(\S+) +(V1|V2|–) +\S (\S+) +.*?(\S+:\d+)$", README, re.MULTILINE)

    assert cli.invoke(["--out", str(tmp_path / "run"), "-q"]) == 1

    found = json.loads((tmp_path / "run" / "investigation.json").read_text())["findings"]
    said = {
        (f["contract"], (f["runner"] or "–").upper(), f["verdict"], f"{e['path']}:{e['line']}")
        for f in found
        for e in f["evidence"][:1]
    }
    assert len(excerpt) == 6
    assert set(excerpt) <= said
