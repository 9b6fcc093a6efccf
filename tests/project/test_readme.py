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


def pages() -> list[Path]:
    root = Path(__file__).parents[2]
    return sorted({*root.glob("*.md"), *root.glob("docs/**/*.md"), *root.glob("fixtures/**/*.md")})


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_every_link_within_the_project_leads_somewhere(page):
    links = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", page.read_text(encoding="utf-8"))

    assert [link for link in links if not (page.parent / link).exists()] == []


def test_links_are_found():
    assert {"README.md", "architecture.md", "validation.md"} <= {page.name for page in pages()}
    assert "](docs/architecture.md)" in README


def test_every_command_that_it_shows_is_one():
    shown = re.findall(r"^investigate (\S+)", README, re.MULTILINE)
    top = cli.investigate
    run = {option for parameter in top.get_command(None, "run").params for option in parameter.opts}
    known = run | set(top.list_commands(None))

    assert [word for word in shown if word not in known] == []


def test_every_page_of_the_documentation_is_in_its_list():
    docs = Path(__file__).parents[2] / "docs"
    listed = set(
        re.findall(r"\]\((?!https?:|\.\.)([^)#]+)\)", (docs / "README.md").read_text(encoding="utf-8"))
    )

    pages = {*docs.glob("*.md"), *docs.glob("*/README.md")} - {docs / "README.md"}
    assert listed == {page.relative_to(docs).as_posix() for page in pages}


def excerpt() -> dict[tuple[str, str, str], str]:
    """Contract, runner and verdict of each row that README shows -> the place beneath it."""
    row = re.compile(r"^(\S+) +(V1|V2|–) +\S (\S+) +\S")
    place = re.compile(r"^ +(\S+:\d+(?:-\d+)?)$")
    found: dict[tuple[str, str, str], str] = {}
    for line in README.partition("$ investigate\n")[2].partition("```")[0].splitlines():
        if match := row.match(line):
            found[match[1], match[2], match[3]] = ""
        elif match := place.match(line):
            found[list(found)[-1]] = match[1]
    return found


@pytest.mark.network
def test_the_excerpt_is_what_a_run_says(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("INVESTIGATE_CACHE_DIR", str(tmp_path / "cache"))

    assert cli.invoke(["--out", str(tmp_path / "run"), "-q"]) == 1

    document = json.loads((tmp_path / "run" / "investigation.json").read_text())
    said = {
        ((f["contract"], (f["runner"] or "–").upper(), f["verdict"]), f"{e['path']}:{e['line']}")
        for f in document["findings"]
        for e in f["evidence"]
    }
    shown = {(row, where.partition("-")[0]) for row, where in excerpt().items()}
    assert len(shown) == 4
    assert shown <= said
    assert document["headline"] in README
    for number, runner, verdict in re.findall(r"^(\d+) contracts +(V\d) +\S (\S+)", README, re.MULTILINE):
        kept = [
            f
            for f in document["findings"]
            if f["verdict"] == verdict and (f["runner"] or runner.lower()) == runner.lower()
        ]
        assert len(kept) == int(number)
