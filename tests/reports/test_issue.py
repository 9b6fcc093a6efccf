"""A bug report for the engine's tracker."""

import re
from dataclasses import replace

import pytest

from investigator.model import Remedy, RemedyKind, Verdict
from investigator.reports import issue
from tests.support import builders

EVIDENCE = (
    builders.evidence(),
    builders.evidence(source="draft", path="config.json", line=1, end_line=1, quote="{", role="asks"),
)


def test_the_engines_lines_stand_open_and_the_others_are_folded():
    text = issue.render(builders.investigation(findings=(builders.finding(evidence=EVIDENCE),)))

    here, _, folded = text.partition("<details><summary>Why this is expected: 1 place in")
    assert "vllm/runner.py:2" in here
    assert "config.json:1" not in here
    assert "config.json:1" in folded


def test_a_title_says_what_and_where_and_fits():
    one = builders.finding(why="every tap is too early")
    many = tuple(builders.finding(contract=f"promise-{n}") for n in range(5))

    assert issue.title(builders.investigation(), (one,)) == (
        "[Bug]: z-lab/Qwen3.6-27B-DFlash on vllm==0.20.1: target-layer-offset: every tap is too early"
    )
    assert issue.title(builders.investigation(), many) == (
        "[Bug]: z-lab/Qwen3.6-27B-DFlash on vllm==0.20.1: promise-0, promise-1, promise-2 and 2 more"
    )
    assert len(issue.title(builders.investigation(), (replace(one, why="x" * 300),))) == 120


def test_patches_come_with_it_while_there_is_room():
    patched = builders.investigation()
    long = builders.investigation(patches=(replace(patched.patches[0], text="x" * 40_000),))

    assert "```diff\nFrom 0000\n" in issue.render(patched)
    assert "diff" not in issue.render(long)


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (
            "investigate run --symptom /home/me/vllm.log --engine x",
            "investigate run --symptom vllm.log --engine x",
        ),
        ("investigate run --symptom '/home/my me/a log'", "investigate run --symptom 'a log'"),
        ("investigate run --symptom -", "investigate run --symptom -"),
        ("investigate run --engine x", "investigate run --engine x"),
        ("an open ' quote --symptom /a/b", "an open ' quote --symptom /a/b"),
    ],
)
def test_where_the_symptom_lies_is_the_reporters_business(given, shown):
    assert f"```sh\n{shown}\n```" in issue.render(builders.investigation(command=given))


def test_only_what_is_quoted_is_named_as_read():
    text = issue.render(builders.investigation(findings=(builders.finding(evidence=EVIDENCE[:1]),)))

    assert text.count("\n- read:") == 1


def test_a_sound_engine_gives_nothing_to_report():
    sound = builders.investigation(findings=(builders.finding(verdict=Verdict.HONOURED),))

    assert "Nothing was found that the engine does differently" in issue.render(sound)


def test_what_repairs_it_elsewhere_is_named_and_its_own_patch_is_not():
    ways = (
        Remedy(kind=RemedyKind.PATCH, ref="patches/0001-shift.patch", effect="adds one"),
        Remedy(kind=RemedyKind.SETTING, ref="--no-enable-prefix-caching", effect="no reuse"),
        Remedy(kind=RemedyKind.PULL_REQUEST, ref="vllm-project/vllm#40727", effect="merged: adds one"),
    )
    text = issue.render(builders.investigation(findings=(builders.finding(remedies=ways),)))

    assert re.findall("^(?:Repaired|Avoided) by .*$", text, re.MULTILINE) == [
        "Avoided by setting `--no-enable-prefix-caching`: no reuse",
        "Repaired by pull request `vllm-project/vllm#40727`: merged 2026-05-20",
    ]
