"""``--engine NAME``: its newest release, named by its version from there on."""

import json
from pathlib import Path

from tests.support import mini_vllm
from tests.support.wheels import build_wheel
from tests.support.whole_case import whole_case


def test_an_engine_without_a_version_is_its_newest_release(tmp_path: Path) -> None:
    files = {path: text.encode() for path, text in mini_vllm.texts(shift="none", drop="eagle").items()}
    with whole_case(tmp_path) as case:
        case.index.add(version="0.21.0", data=build_wheel("vllm", "0.21.0", files))
        case.index.add(version="0.22.0rc1", data=build_wheel("vllm", "0.22.0rc1", files))

        done = case.run(tmp_path / "run", tmp_path / "cache", "--engine", "vllm", "--format", "json")
        again = case.run(tmp_path / "again", tmp_path / "cache", "--engine", "vllm", "--offline", "-q")

    found = json.loads(done.stdout)
    assert found["case"]["engine"] == "vllm==0.21.0"
    assert "--engine vllm==0.21.0" in found["command"]
    assert "vllm==0.21.0 with" in done.stderr
    assert "vllm==0.21.0 with" in again.stdout
