"""A wheel is read member by member, cheaply, and believed only where its hashes hold."""

import io
import struct
import threading
import zipfile
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from werkzeug import Response

from investigator.case import EngineSpec
from investigator.errors import IntegrityError, LimitError, NotFoundError, OfflineError, SourceError
from investigator.events import Event
from investigator.model import Json, Origin, SourceKind
from investigator.sources import wheel as wheel_module
from investigator.sources import wheel_directory
from investigator.sources.interface import Tree
from investigator.sources.open import Workspace, open_engine, open_package
from investigator.sources.pip_settings import PipSettings
from investigator.sources.range_zip import MAX_MEMBER
from tests.support.mini_index import MiniIndex, serve_whole
from tests.support.wheels import ENGINE_FILES, build_wheel, incompressible, record_row

RELEASE = EngineSpec.parse("vllm==0.20.1")
MODEST = ["vllm/__init__.py", "vllm/config.py"]


def spread(gap: int = 100_000) -> dict[str, bytes]:
    """A miniature whose files lie ``gap`` bytes apart, as compiled libraries do it to vLLM's."""
    files: dict[str, bytes] = {}
    for number, (path, data) in enumerate(ENGINE_FILES.items()):
        files[path] = data
        files[f"vllm/_C{number}.so"] = incompressible(gap)
    return files


def test_a_release_is_a_tree(workspace: Workspace, index: MiniIndex) -> None:
    index.add()

    tree = open_engine(RELEASE, workspace)

    assert list(tree.paths()) == [
        "vllm-0.20.1.dist-info/METADATA",
        "vllm-0.20.1.dist-info/RECORD",
        "vllm/__init__.py",
        "vllm/config.py",
        "vllm/worker/empty.py",
        "vllm/worker/runner.py",
    ]
    assert {path: tree.read(path) for path in ENGINE_FILES} == ENGINE_FILES
    assert tree.digest("vllm/worker/empty.py") == (
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    )
    source = tree.source
    assert (source.id, source.kind, source.revision) == ("vllm", SourceKind.WHEEL, "0.20.1")
    assert (source.origin, source.sha256) == (Origin.LIVE, index.files[0].sha256)
    assert source.name == "vllm-0.20.1-py3-none-any.whl"


def test_a_release_knows_when_it_was_uploaded_in_every_run(
    workspace: Workspace, index: MiniIndex, reopened: Callable[..., Workspace]
) -> None:
    index.add(uploaded="2026-04-27T08:30:00.123456Z")
    index.add("other")

    first = open_engine(RELEASE, workspace).source
    again = open_engine(RELEASE, reopened(offline=True)).source

    assert first.released_at == again.released_at == datetime(2026, 4, 27, 8, 30, 0, 123456, UTC)
    assert open_package("other==0.20.1", workspace).source.released_at is None


def test_a_small_wheel_costs_three_requests_and_a_second_run_none(
    workspace: Workspace, index: MiniIndex, reopened: Callable[..., Workspace]
) -> None:
    index.add()
    tree = open_engine(RELEASE, workspace)
    tree.prefetch(MODEST)
    assert [tree.read(path) for path in MODEST] == [ENGINE_FILES[path] for path in MODEST]
    assert len(index.requests) == 3  # the list, the tail, the two neighbours together

    again = open_engine(RELEASE, reopened(offline=True))

    assert [again.read(path) for path in MODEST] == [ENGINE_FILES[path] for path in MODEST]
    assert again.source.origin is Origin.CACHE
    fetching = open_engine(RELEASE, reopened())
    fetching.read("vllm/worker/runner.py")
    assert fetching.source.origin is Origin.LIVE
    assert abs(again.source.retrieved_at - tree.source.retrieved_at) < timedelta(seconds=5)
    assert len(index.requests) == 4


def test_only_what_is_asked_for_travels(workspace: Workspace, index: MiniIndex) -> None:
    data = index.add(data=build_wheel(files=spread(), padding=1_000_000))

    tree = open_engine(RELEASE, workspace)
    tree.prefetch(["vllm/worker/runner.py"])

    assert len(data) > 1_400_000
    before = workspace.transport.usage().bytes
    assert tree.read("vllm/worker/runner.py") == ENGINE_FILES["vllm/worker/runner.py"]
    assert workspace.transport.usage().bytes == before
    assert before < wheel_directory.TAIL + 2_000


def test_neighbours_travel_together_and_strangers_do_not(workspace: Workspace, index: MiniIndex) -> None:
    index.add(data=build_wheel(files=spread(), padding=1_000_000))
    tree = open_engine(RELEASE, workspace)
    sent = len(index.requests)

    tree.prefetch([*MODEST, "vllm/no_such_file.py"])

    assert len(index.requests) == sent + 2  # 100 kB apart: two requests
    assert [tree.read(path) for path in MODEST] == [ENGINE_FILES[path] for path in MODEST]
    assert len(index.requests) == sent + 2


def test_a_directory_larger_than_the_first_guess(
    workspace: Workspace, index: MiniIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wheel_directory, "TAIL", 100)
    index.add()

    assert open_engine(RELEASE, workspace).read("vllm/config.py") == ENGINE_FILES["vllm/config.py"]


def test_local_headers_with_more_extra_than_expected(workspace: Workspace, index: MiniIndex) -> None:
    """Extra fields of local headers are not in the directory; a reader has to look."""
    files = dict(ENGINE_FILES)
    rows = [record_row(path, data) for path, data in files.items()]
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            info = zipfile.ZipInfo(path)
            info.extra = struct.pack("<2H", 0x4242, 5000) + bytes(5000)
            archive.writestr(info, data)
        archive.writestr("vllm-0.20.1.dist-info/RECORD", "\n".join(rows) + "\n")
    index.add(data=buffer.getvalue())

    tree = open_engine(RELEASE, workspace)

    assert {path: tree.read(path) for path in ENGINE_FILES} == ENGINE_FILES


def test_the_wheel_of_a_file_index_is_read_in_place(
    workspace: Workspace, index: MiniIndex, tmp_path: Path
) -> None:
    folder = tmp_path / "links"
    folder.mkdir()
    (folder / "vllm-0.20.1-py3-none-any.whl").write_bytes(build_wheel())
    local = replace(workspace, pip=PipSettings(no_index=True, find_links=(str(folder),)))

    tree = open_engine(RELEASE, local)

    assert tree.source.origin is Origin.LOCAL
    assert tree.read("vllm/config.py") == ENGINE_FILES["vllm/config.py"]
    assert index.requests == []


def test_a_package_is_named_by_its_own_name(workspace: Workspace, index: MiniIndex) -> None:
    index.add("dflash", "0.1.0", build_wheel("dflash", "0.1.0", {"dflash/model.py": b"x = 1\n"}))

    tree = open_package("dflash==0.1.0", workspace)

    assert tree.source.id == "dflash"
    assert tree.read("dflash/model.py") == b"x = 1\n"


def test_a_yanked_release_says_so(workspace: Workspace, index: MiniIndex) -> None:
    index.add(yanked="wrong CUDA")

    assert open_engine(RELEASE, workspace).source.note == "yanked from the index: wrong CUDA"


def test_threads_share_a_tree(workspace: Workspace, index: MiniIndex) -> None:
    index.add()
    tree = open_engine(RELEASE, workspace)
    read: list[bytes] = []
    threads = [threading.Thread(target=lambda: read.append(tree.read("vllm/config.py"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert read == [ENGINE_FILES["vllm/config.py"]] * 8
    assert len(index.requests) == 3


def test_a_path_that_is_not_there(workspace: Workspace, index: MiniIndex) -> None:
    index.add()
    tree = open_engine(RELEASE, workspace)

    for ask in (tree.read, tree.digest):
        with pytest.raises(NotFoundError, match=r"has no file vllm/gone\.py"):
            ask("vllm/gone.py")


# Wheels that are not what they should be


def opened(workspace: Workspace, index: MiniIndex, data: bytes) -> Tree:
    index.add(data=data)
    return open_engine(RELEASE, workspace)


def test_cut_off_in_the_middle(workspace: Workspace, index: MiniIndex) -> None:
    data = build_wheel()

    with pytest.raises(
        IntegrityError, match=r"vllm==0\.20\.1 \(vllm-0.*whl\): the archive .*end record"
    ) as error:
        opened(workspace, index, data[: len(data) * 2 // 3])

    assert "anew" in error.value.advice


def test_a_member_whose_hash_is_wrong(workspace: Workspace, index: MiniIndex) -> None:
    rows = [record_row(path, data) for path, data in ENGINE_FILES.items()]
    rows[1] = record_row("vllm/config.py", b"something else")
    tree = opened(workspace, index, build_wheel(record="\n".join(rows).encode()))

    with pytest.raises(IntegrityError, match=r"vllm/config\.py does not have the hash") as error:
        tree.read("vllm/config.py")

    assert "do not trust" in error.value.advice
    assert tree.read("vllm/__init__.py") == ENGINE_FILES["vllm/__init__.py"]


def test_a_member_that_record_does_not_know(workspace: Workspace, index: MiniIndex) -> None:
    rows = [record_row(path, data) for path, data in list(ENGINE_FILES.items())[:-1]]
    tree = opened(workspace, index, build_wheel(record="\n".join(rows).encode()))

    with pytest.raises(IntegrityError, match=r"names no sha256 for vllm/worker/empty\.py"):
        tree.read("vllm/worker/empty.py")
    with pytest.raises(IntegrityError, match="names no sha256"):
        tree.digest("vllm-0.20.1.dist-info/RECORD")


def test_a_record_that_is_none(workspace: Workspace, index: MiniIndex) -> None:
    with pytest.raises(IntegrityError, match="its RECORD cannot be read"):
        opened(workspace, index, build_wheel(record=b"\xff\xfe"))


def test_no_record_at_all(workspace: Workspace, index: MiniIndex) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("vllm/__init__.py", "")

    with pytest.raises(IntegrityError, match="0 RECORD files instead of one"):
        opened(workspace, index, buffer.getvalue())


def test_two_records(workspace: Workspace, index: MiniIndex) -> None:
    files = {**ENGINE_FILES, "other-1.0.dist-info/RECORD": b""}

    with pytest.raises(IntegrityError, match="2 RECORD files instead of one"):
        opened(workspace, index, build_wheel(files=files))


@pytest.mark.parametrize(("name", "version"), [("other", "0.20.1"), ("vllm", "0.20.2")])
def test_another_package_under_this_name(
    workspace: Workspace, index: MiniIndex, name: str, version: str
) -> None:
    with pytest.raises(IntegrityError, match=f"it holds the package {name} {version}"):
        opened(workspace, index, build_wheel(name, version))


def test_a_member_over_the_limit_is_not_fetched(workspace: Workspace, index: MiniIndex) -> None:
    big = {"vllm/huge.py": incompressible(64) * (MAX_MEMBER // 64 + 1), **ENGINE_FILES}
    tree = opened(workspace, index, build_wheel(files=big))
    sent = len(index.requests)

    with pytest.raises(LimitError, match=r"huge\.py is .* over the limit for one file"):
        tree.read("vllm/huge.py")
    assert len(index.requests) == sent

    tree.prefetch(["vllm/huge.py", "vllm/config.py"])
    assert tree.read("vllm/config.py") == ENGINE_FILES["vllm/config.py"]


def test_damage_on_the_way_is_noticed(workspace: Workspace, index: MiniIndex) -> None:
    data = index.add(data=build_wheel(files=spread(), padding=1_000_000))
    tree = open_engine(RELEASE, workspace)
    at = data.index(b"vllm/config.py") + 20
    index.files[0].data = data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]

    with pytest.raises(IntegrityError, match=r"vllm/config\.py"):
        tree.read("vllm/config.py")

    index.files[0].data = data
    assert tree.read("vllm/config.py") == ENGINE_FILES["vllm/config.py"]


def test_a_server_without_ranges(workspace: Workspace, index: MiniIndex) -> None:
    index.serve = serve_whole
    index.add()

    tree = open_engine(RELEASE, workspace)

    assert {path: tree.read(path) for path in ENGINE_FILES} == ENGINE_FILES
    assert len(index.requests) == 2


def test_a_file_that_is_gone(workspace: Workspace, index: MiniIndex) -> None:
    index.add()
    workspace.index.wheel("vllm", "0.20.1")
    index.serve = lambda *_: Response("gone", 404)

    with pytest.raises(NotFoundError, match=r"vllm==0\.20\.1: there is no"):
        open_engine(RELEASE, workspace)


def test_a_kept_choice_that_leads_nowhere_is_made_again(workspace: Workspace, index: MiniIndex) -> None:
    index.add(build="1")
    workspace.index.wheel("vllm", "0.20.1")
    index.files.clear()
    index.add(build="2")

    assert open_engine(RELEASE, workspace).source.name == "vllm-0.20.1-2-py3-none-any.whl"


# The store under it


def test_a_corrupt_entry_is_fetched_again(
    workspace: Workspace, index: MiniIndex, reopened: Callable[..., Workspace], events: list[Event]
) -> None:
    index.add()
    open_engine(RELEASE, workspace).read("vllm/config.py")
    for path in (workspace.store.root / "v1").rglob("*"):
        if path.is_file():
            path.write_bytes(path.read_bytes()[:-1] + b"#")
    events.clear()

    tree = open_engine(RELEASE, reopened())

    assert tree.read("vllm/config.py") == ENGINE_FILES["vllm/config.py"]
    set_aside = [event for event in events if event.details["source"] == "store"]
    assert len(set_aside) == 5  # the choice, the list, the directory and its places, the file
    assert len(index.requests) == 6


def test_an_unreadable_directory_record_is_fetched_again(
    workspace: Workspace, index: MiniIndex, reopened: Callable[..., Workspace]
) -> None:
    """A sound entry of the wrong shape, as an older or newer program might leave it."""
    index.add()
    open_engine(RELEASE, workspace)
    key = str(index.files[0].sha256)
    shapes: list[Json] = [None, [], {"names": 1}, {"names": ["a"], "numbers": [[1]], "sha256": [None]}]
    for shape in shapes:
        workspace.store.keep("wheel-directory", key, shape)
        tree = open_engine(RELEASE, reopened())
        assert tree.read("vllm/config.py") == ENGINE_FILES["vllm/config.py"]


def test_offline_and_not_there(
    workspace: Workspace, index: MiniIndex, reopened: Callable[..., Workspace]
) -> None:
    index.add(data=build_wheel(files=spread(), padding=1_000_000))
    open_engine(RELEASE, workspace)

    tree = open_engine(RELEASE, reopened(offline=True))

    with pytest.raises(OfflineError, match=r"vllm==0\.20\.1 would have to be fetched"):
        tree.read("vllm/config.py")
    with pytest.raises(OfflineError):
        tree.prefetch(["vllm/config.py"])


def test_an_unreachable_index(workspace: Workspace) -> None:
    nowhere = replace(workspace, pip=PipSettings(index_url="http://127.0.0.1:9/simple/"))

    with pytest.raises(SourceError, match=r"the list of vllm releases: 127\.0\.0\.1 refuses"):
        open_engine(RELEASE, nowhere)


def test_files_that_are_small_packed_and_large_together(
    workspace: Workspace, index: MiniIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wheel_module, "MAX_CONTENTS", 100_000)
    files = {"vllm/__init__.py": b"", **{f"vllm/f{n}.py": b"x = 1\n" * 100 for n in range(200)}}
    index.add(data=build_wheel(files=files))
    tree = open_engine(RELEASE, workspace)

    with pytest.raises(LimitError, match="that are asked for hold more than 100000 bytes"):
        tree.prefetch(tree.paths())
    assert tree.read("vllm/f1.py") == b"x = 1\n" * 100
