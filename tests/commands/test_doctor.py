"""``investigate doctor`` tells what is there, and never a token."""

import re

import pytest

from investigator import cli
from investigator.commands import doctor
from investigator.settings import Settings

SECRET = "hf_verysecret0123456789"


@pytest.fixture
def alone(tmp_path, monkeypatch):
    """A user with nothing: no pip settings but a dead index, no tokens, dead servers."""
    for name in (
        "GITHUB_TOKEN",
        "GH_TOKEN",
        "HF_TOKEN",
        "HTTPS_PROXY",
        "https_proxy",
        "ALL_PROXY",
        "COLUMNS",
    ):
        monkeypatch.delenv(name, raising=False)
    dead = "http://127.0.0.1:9"
    monkeypatch.setenv("PIP_INDEX_URL", f"{dead}/simple/")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    monkeypatch.setenv("HF_ENDPOINT", dead)
    monkeypatch.setenv("GITHUB_API_URL", dead)
    monkeypatch.setenv("INVESTIGATE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "400")


def said(capsys, *arguments):
    """The exit code and the lines; each line begins with a sign and the name of its check."""
    code = cli.invoke(["doctor", *arguments])
    return code, [line.rstrip() for line in capsys.readouterr().out.splitlines()]


def test_an_index_that_does_not_answer_is_what_fails(alone, capsys):
    code, lines = said(capsys)

    assert code == 3
    assert [line[:15] for line in lines if line.startswith("✗")] == ["✗ package index"]
    assert any(line.endswith("dated snapshots; HF_TOKEN is not set") for line in lines)


def test_offline_asks_nobody_and_is_content(alone, capsys):
    code, lines = said(capsys, "--offline")

    assert code == 0
    assert sum("not asked with --offline" in line for line in lines) == 3


@pytest.mark.parametrize("name", ["GITHUB_TOKEN", "GH_TOKEN", "HF_TOKEN"])
def test_a_token_is_named_and_never_shown(alone, capsys, monkeypatch, name):
    monkeypatch.setenv(name, SECRET)

    _, lines = said(capsys, "--offline")

    text = "\n".join(lines)
    assert f"{name} is set" in text
    assert SECRET not in text


def test_without_git_no_patch_can_be_proven(monkeypatch):
    monkeypatch.setattr(doctor.shutil, "which", lambda name: None)

    assert doctor.git(Settings()).state is doctor.State.NEEDED


def test_git_tells_its_version():
    check = doctor.git(Settings())

    assert check.state is doctor.State.GOOD
    assert re.match(r"\d+\.\d+\S* at /", check.said)


def test_a_git_that_does_not_run_is_as_good_as_none(tmp_path, monkeypatch):
    broken = tmp_path / "git"
    broken.write_text("#!/bin/sh\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    check = doctor.git(Settings())

    assert check.state is doctor.State.NEEDED
    assert "does not run" in check.said


def test_a_cache_that_cannot_be_a_folder_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")

    check = doctor.cache(Settings(cache_dir=tmp_path / "file" / "cache"))

    assert check.state is doctor.State.NEEDED
    assert "--cache-dir" in check.said


def test_a_cache_that_cannot_be_written_costs_requests_and_no_more(tmp_path, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: False)
    check = doctor.cache(Settings(cache_dir=tmp_path))

    assert check.state is doctor.State.MISSING
    assert check.said == f"{tmp_path} cannot be written: every run fetches everything anew"
