import json
import subprocess
import sys
from pathlib import Path

import pytest

from investigator.errors import IncompleteError
from investigator.validation.launchers import local
from investigator.validation.launchers.local import LocalLauncher, readable


def test_the_folder_runs_here(folder: Path, site: Path) -> None:
    said: list[str] = []
    LocalLauncher(environment={"PYTHONPATH": str(site)}).run(folder, ["as-released"], said.append)
    assert json.loads((folder / "results" / "as-released.json").read_text())["status"] == "done"
    assert said[0] == "1 of 1 variants to run, 1 at once"
    assert said[1] == "as-released: started"


def test_an_interpreter_that_is_not_there_is_named(folder: Path) -> None:
    with pytest.raises(IncompleteError, match="cannot start /no/python") as caught:
        LocalLauncher(python="/no/python").run(folder, ["as-released"], lambda line: None)
    assert "--python" in caught.value.advice


def test_an_interrupt_is_one_though_the_child_does_not_heed_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "GRACE", 0.2)
    stubborn = (
        "import signal, time; signal.signal(15, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
    )
    process = subprocess.Popen([sys.executable, "-c", stubborn], stdout=subprocess.PIPE, text=True)

    def interrupt(line: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        local.follow(process, interrupt)
    assert process.returncode == -9


def test_bytes_that_are_no_text_are_shown_as_what_they_are(tmp_path: Path) -> None:
    said: list[str] = []
    (tmp_path / "run.py").write_text("import sys; sys.stdout.buffer.write(b'caf\\xe9\\n')")
    LocalLauncher().run(tmp_path, [], said.append)

    assert said == ["caf\ufffd"]


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ('{"event": "finished", "variant": "a", "status": "done", "seconds": 1.5}', "a: done in 1.5 s"),
        ('{"event": "finished", "variant": "a", "status": "hung", "error": "x"}', "a: hung: x"),
        ('{"event": "retried", "variant": "a", "without": ["b", "c"]}', "a: again without b, c"),
        ("Traceback (most recent call last):\n", "Traceback (most recent call last):"),
        ("[1]", "[1]"),
        ("[" * 200_000, "[" * 200_000),
    ],
)
def test_progress_is_readable(line: str, text: str) -> None:
    assert readable(line) == text
