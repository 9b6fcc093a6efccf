"""``investigate explain`` from its command line."""

import pytest

from investigator import cli


def test_a_contract(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["explain", "cache-drop"]) == 0

    out = capsys.readouterr().out
    assert out.startswith("cache-drop\n\nThe EAGLE rule")
    assert out.index("How engines break it") < out.index("How to see it") < out.index("How to repair it")


def test_a_key(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["explain", "mask_token_id"]) == 0

    assert "contracts: mask-token" in capsys.readouterr().out


def test_without_a_name_everything_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["explain"]) == 0

    out = capsys.readouterr().out
    assert "  target-capture       " in out
    assert "  sliding_window\n" in out
    assert max(map(len, out.splitlines())) <= 100


def test_an_unknown_name_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["explain", "cahce-drop"]) == 2

    assert "near: cache-drop" in capsys.readouterr().err
