"""The store keeps what it is given, notices what is not what it should be, and never breaks a run."""

import errno
import hashlib
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from investigator.errors import UsageError
from investigator.events import Event, ignore
from investigator.sources import store as store_module
from investigator.sources.store import Store
from tests.support.homeless import without_home

HELLO = b"hello\n"
HELLO_SHA256 = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"  # sha256sum


def files_below(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_a_blob_comes_back_under_its_sha256(store: Store) -> None:
    assert store.keep_blob(HELLO) == HELLO_SHA256
    assert store.blob(HELLO_SHA256) == HELLO
    assert store.has_blob(HELLO_SHA256)


def test_an_unknown_blob_is_a_miss(store: Store) -> None:
    assert store.blob(HELLO_SHA256) is None
    assert not store.has_blob(HELLO_SHA256)


def test_a_record_comes_back_with_its_time(store: Store) -> None:
    store.keep("wheel-choice", "vllm==0.20.1", {"size": 3, "names": ["a", "b"]})

    entry = store.entry("wheel-choice", "vllm==0.20.1")

    assert entry is not None
    assert entry.value == {"size": 3, "names": ["a", "b"]}
    assert entry.kept_at.utcoffset() is not None
    assert store.record("wheel-choice", "vllm==0.20.2") is None
    assert store.record("another", "vllm==0.20.1") is None


def test_another_run_finds_what_this_one_kept(store: Store, tmp_path: Path) -> None:
    store.keep_blob(HELLO)
    store.keep("answers", "key", [1, 2.5, None, "ü"])

    later = Store.open(tmp_path / "cache")

    assert later.blob(HELLO_SHA256) == HELLO
    assert later.record("answers", "key") == [1, 2.5, None, "ü"]


def test_the_folder_is_the_users_alone_and_marked_as_a_cache(store: Store) -> None:
    store.keep_blob(HELLO)

    assert stat.S_IMODE(store.root.stat().st_mode) == 0o700
    assert (store.root / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55")


@pytest.mark.parametrize("damage", [b"hello!", b"", b"hello\nhello\n"])
def test_a_corrupt_blob_is_set_aside_and_reported(store: Store, events: list[Event], damage: bytes) -> None:
    store.keep_blob(HELLO)
    [entry] = [path for path in files_below(store.root) if path.read_bytes() == HELLO]
    entry.write_bytes(damage)

    assert store.blob(HELLO_SHA256) is None

    assert not entry.exists()
    assert [event.details["source"] for event in events] == ["store"]
    assert "5891b5b522d5" in str(events[0].details["error"])
    store.keep_blob(HELLO)
    assert store.blob(HELLO_SHA256) == HELLO


@pytest.mark.parametrize("damage", [b"", b"{}", b"\xff\n", b"[" * 100_000, b"null\nnull"])
def test_a_corrupt_record_is_set_aside_and_reported(store: Store, events: list[Event], damage: bytes) -> None:
    store.keep("answers", "key", 1)
    [entry] = [path for path in files_below(store.root) if path.name != "CACHEDIR.TAG"]
    entry.write_bytes(damage)

    assert store.record("answers", "key") is None

    assert len(events) == 1
    assert not entry.exists()


def test_a_record_whose_time_names_no_zone_is_a_miss(store: Store) -> None:
    store.keep("answers", "key", 1)
    [entry] = [path for path in files_below(store.root) if path.name != "CACHEDIR.TAG"]
    entry.write_bytes(entry.read_bytes().replace(b"+00:00", b""))

    assert store.entry("answers", "key") is None


def test_a_record_whose_value_was_edited_is_a_miss(store: Store) -> None:
    store.keep("answers", "key", {"verdict": "broken"})
    [entry] = [path for path in files_below(store.root) if path.name != "CACHEDIR.TAG"]
    entry.write_bytes(entry.read_bytes().replace(b"broken", b"honour"))

    assert store.record("answers", "key") is None


def test_a_disk_that_refuses_means_memory_and_one_word_about_it(tmp_path: Path, events: list[Event]) -> None:
    root = tmp_path / "cache"
    store = Store.open(root, events.append)
    shutil.rmtree(root / "v1")
    (root / "v1").write_text("a file where the store wants a folder")

    assert store.blob(store.keep_blob(HELLO)) == HELLO
    store.keep("answers", "key", 1)

    assert store.record("answers", "key") == 1
    assert len(events) == 1
    assert "cannot be written" in str(events[0].details["error"])


@pytest.mark.parametrize("step", ["mkstemp", "fdopen", "replace"])
def test_a_disk_that_is_full(
    store: Store, events: list[Event], monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile if step == "mkstemp" else os, step, full)

    assert store.blob(store.keep_blob(HELLO)) == HELLO
    store.with_events(ignore).keep("answers", "key", 1)

    assert store.record("answers", "key") == 1
    assert ["No space left" in str(event.details["error"]) for event in events] == [True]
    assert list((store.root / "v1/new").iterdir()) == []


def test_memory_has_an_end(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    (store.root / "v1/blobs").write_text("a file where the store wants a folder")
    monkeypatch.setattr(store_module, "MEMORY_LIMIT", 250)
    hashes = [store.keep_blob(bytes([n]) * 100) for n in range(3)]

    assert [store.blob(sha256) is not None for sha256 in hashes] == [False, True, True]
    assert [store.has_blob(sha256) for sha256 in hashes] == [False, True, True]


def test_what_a_killed_process_left_is_swept_away(store: Store) -> None:
    new = store.root / "v1/new"
    (new / "old").write_bytes(b"half an ent")
    (new / "young").write_bytes(b"half an ent")
    os.utime(new / "old", (0, 0))

    Store.open(store.root)

    assert [path.name for path in new.iterdir()] == ["young"]


def test_a_cache_folder_that_was_asked_for_and_cannot_be_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(UsageError, match="cannot keep anything in") as error:
        Store.open(tmp_path / "file")

    assert "--cache-dir" in error.value.advice


def test_threads_share_a_store(store: Store) -> None:
    blobs = [str(n).encode() * 1000 for n in range(50)]

    def keep_all() -> None:
        for blob in blobs:
            store.keep_blob(blob)
            store.keep("answers", "same key", blob.decode())

    threads = [threading.Thread(target=keep_all) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert all(store.blob(hashlib.sha256(blob).hexdigest()) == blob for blob in blobs)
    assert store.record("answers", "same key") == blobs[-1].decode()


KEEP_AND_READ = """
import sys
from pathlib import Path
from investigator.sources.store import Store
from tests.support.homeless import without_home
events = []
store = Store.open(Path(sys.argv[1]), events.append)
for n in range(150):
    store.keep("answers", "same key", str(n) * 500)
    assert store.record("answers", "same key") is not None
    assert store.blob(store.keep_blob(b"%d" % n * 300)) == b"%d" % n * 300
assert not events, events
"""


def test_processes_share_a_store_without_harm(tmp_path: Path) -> None:
    command = [sys.executable, "-c", KEEP_AND_READ, str(tmp_path / "cache")]
    processes = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(3)]
    ends = [process.communicate(timeout=60)[1] for process in processes]

    assert [process.returncode for process in processes] == [0, 0, 0], ends


def test_a_user_without_a_home_keeps_nothing_on_disk(
    monkeypatch: pytest.MonkeyPatch, events: list[Event]
) -> None:
    without_home(monkeypatch)

    store = Store.open(None, events.append)
    store.keep("answers", "key", 1)

    assert store.record("answers", "key") == 1
    assert ["nothing is kept" in str(event.details["error"]) for event in events] == [True]


def test_the_environment_names_the_cache_for_programs_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INVESTIGATE_CACHE_DIR", str(tmp_path / "named"))

    assert Store.open().root == tmp_path / "named"
    assert Store.open(tmp_path / "given").root == tmp_path / "given"
