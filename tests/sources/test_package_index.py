"""Releases are found where pip would find them, and the right wheel is read."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from packaging.version import Version
from pytest_httpserver import HTTPServer
from werkzeug import Response

from investigator.errors import LimitError, OfflineError, SourceError, UsageError
from investigator.events import Event
from investigator.sources import package_index
from investigator.sources.index_page import parse_page
from investigator.sources.open import Workspace
from investigator.sources.package_index import PackageIndex, Release, nearest_releases
from investigator.sources.pip_settings import PipSettings
from investigator.sources.store import Store
from investigator.sources.transport import Transport
from tests.support.mini_index import MiniIndex
from tests.support.wheels import build_wheel, wheel_name


def with_settings(workspace: Workspace, settings: PipSettings) -> PackageIndex:
    return PackageIndex(settings, workspace.transport, workspace.store, workspace.events)


@pytest.mark.parametrize("html", [False, True])
def test_releases_in_order(workspace: Workspace, index: MiniIndex, html: bool) -> None:
    index.html = html
    for version in ["0.9.0", "0.10.1", "0.10.0rc1", "0.10.0"]:
        index.add(version=version)

    releases = workspace.index.releases("vllm")

    assert [release.version for release in releases] == ["0.9.0", "0.10.0rc1", "0.10.0", "0.10.1"]
    assert [release.prerelease for release in releases] == [False, True, False, False]


@pytest.mark.parametrize("html", [False, True])
def test_what_a_page_says_of_a_wheel(workspace: Workspace, index: MiniIndex, html: bool) -> None:
    index.html = html
    data = index.add(yanked="breaks <everything>")

    [release] = workspace.index.releases("VLLM")
    wheel = release.best_wheel()

    assert release.yanked == "breaks <everything>"
    assert wheel.filename == "vllm-0.20.1-py3-none-any.whl"
    assert wheel.url == index.server.url_for("/files/vllm-0.20.1-py3-none-any.whl")
    assert wheel.sha256 == index.files[0].sha256
    assert wheel.size == (None if html else len(data))


def test_a_list_that_is_too_large(workspace: Workspace, index: MiniIndex) -> None:
    index.first += [Response(b"<" * ((16 << 20) + 1), content_type="text/html")] * 3

    with pytest.raises(LimitError, match=r"the list of vllm releases: .* sends more than 16777216 bytes"):
        workspace.index.releases("vllm")


@pytest.mark.parametrize("text", ["[" * 200_000, '{"files": ' + "[" * 200_000, "null", "NaN"])
def test_a_list_that_is_none(workspace: Workspace, index: MiniIndex, text: str) -> None:
    index.first += [Response(text, content_type="application/vnd.pypi.simple.v1+json")] * 3

    with pytest.raises(SourceError) as caught:
        workspace.index.releases("vllm")

    assert caught.value.advice


@pytest.mark.parametrize(
    ("page", "said"),
    [
        (b"<a href='x'>" * 500_000, "links within links"),
        (b"<A " * 500_000, "links within links"),
        (b"<a x='" * 500_000, "links within links"),
        (b"<!--" * 500_000, "full of comments"),
        (b"<!-- x -->" * 101, "full of comments"),
    ],
)
def test_a_page_that_parsers_take_hours_for(page: bytes, said: str) -> None:
    with pytest.raises(SourceError, match=said):
        parse_page(page, "text/html", "https://index.invalid/simple/vllm/", "vllm")


def test_source_distributions_and_strangers_are_left_out(workspace: Workspace, index: MiniIndex) -> None:
    index.add()
    for filename in ["vllm-0.20.1.tar.gz", "other-1.0-py3-none-any.whl", "vllm-bad.whl", "vllm-0.1-py3.exe"]:
        index.add()
        index.files[-1].filename = filename

    [release] = workspace.index.releases("vllm")

    assert [wheel.filename for wheel in release.wheels] == ["vllm-0.20.1-py3-none-any.whl"]


def best(*filenames: str) -> str:
    links = "".join(f'<a href="https://h.invalid/{name}">{name}</a>' for name in filenames)
    wheels = parse_page(f"<html>{links}</html>".encode(), "text/html", "https://h.invalid/", "vllm")
    assert len(wheels) == len(filenames)
    return Release(version="0.20.1", wheels=wheels, uploaded=None, yanked=None).best_wheel().filename


def test_the_wheel_that_is_read() -> None:
    x86, arm = "cp38-abi3-manylinux_2_35_x86_64", "cp38-abi3-manylinux_2_35_aarch64"

    assert best(f"vllm-0.20.1-{arm}.whl", f"vllm-0.20.1-{x86}.whl") == f"vllm-0.20.1-{x86}.whl"
    assert best(f"vllm-0.20.1-1-{x86}.whl", f"vllm-0.20.1-{x86}.whl") == f"vllm-0.20.1-1-{x86}.whl"
    assert best(f"vllm-0.20.1-2-{x86}.whl", f"vllm-0.20.1-10-{x86}.whl") == f"vllm-0.20.1-10-{x86}.whl"
    assert best(f"vllm-0.20.1-{arm}.whl", "vllm-0.20.1-py3-none-any.whl") == "vllm-0.20.1-py3-none-any.whl"
    assert best("vllm-0.20.1-cp39-cp39-win_amd64.whl", f"vllm-0.20.1-{arm}.whl") == f"vllm-0.20.1-{arm}.whl"
    assert best("vllm-0.20.1-cp39-cp39-win_amd64.whl") == "vllm-0.20.1-cp39-cp39-win_amd64.whl"


def test_a_wheel_that_was_not_yanked_comes_first(workspace: Workspace, index: MiniIndex) -> None:
    index.add(build="1", yanked="")
    index.add()

    assert workspace.index.wheel("vllm", "0.20.1").build == 0
    assert workspace.index.release("vllm", "0.20.1").yanked is None


def test_versions_are_compared_as_versions(workspace: Workspace, index: MiniIndex) -> None:
    index.add(version="0.20.0")
    index.add(version="0.21.0+cu129")

    assert workspace.index.release("vllm", "0.20").version == "0.20.0"
    assert workspace.index.release("vllm", "v0.20.0").version == "0.20.0"
    assert workspace.index.release("vllm", "0.21.0").version == "0.21.0+cu129"


def test_a_release_that_does_not_exist(workspace: Workspace, index: MiniIndex) -> None:
    for version in ["0.19.0", "0.20.0", "0.20.1", "0.20.2", "0.21.0", "0.33.0"]:
        index.add(version=version)

    with pytest.raises(UsageError, match=r"there is no release vllm==0\.20\.11") as error:
        workspace.index.release("vllm", "0.20.11")

    assert error.value.advice == "the nearest are 0.20.1, 0.20.2, 0.21.0, 0.33.0; the newest is 0.33.0"


def test_the_newest_release_is_the_one_that_pip_would_install(workspace: Workspace, index: MiniIndex) -> None:
    for version in ["0.9.0", "0.10.0", "0.11.0rc1"]:
        index.add(version=version)
    index.add(version="0.10.1", yanked="breaks everything")

    assert workspace.index.newest("vllm").version == "0.10.0"


def test_a_project_without_a_final_release(workspace: Workspace, index: MiniIndex) -> None:
    index.add(version="0.11.0rc1")
    index.add(version="0.11.0rc2")

    with pytest.raises(UsageError, match=r"no final release of vllm with a wheel") as error:
        workspace.index.newest("vllm")

    assert error.value.advice == "name one: vllm==VERSION; it has 0.11.0rc1, 0.11.0rc2"


def test_the_nearest_of_none() -> None:
    assert nearest_releases((), Version("1.0")) == "the index lists no wheel of it at all"


def test_a_version_that_is_none(workspace: Workspace, index: MiniIndex) -> None:
    index.add()

    with pytest.raises(UsageError, match="'latest' is not a version of vllm"):
        workspace.index.release("vllm", "latest")


def test_a_project_that_does_not_exist(workspace: Workspace, index: MiniIndex) -> None:
    with pytest.raises(UsageError, match="has no project 'vlm'") as error:
        workspace.index.releases("vlm")

    assert "pip config list" in error.value.advice


def test_a_page_that_is_none(workspace: Workspace, index: MiniIndex) -> None:
    index.first = [Response('{"files": [', content_type="application/vnd.pypi.simple.v1+json")]

    with pytest.raises(SourceError, match=r"the list of vllm releases at .* cannot be read"):
        workspace.index.releases("vllm")


def test_the_wheel_of_a_release_is_kept(
    workspace: Workspace, index: MiniIndex, reopened: Callable[..., Workspace]
) -> None:
    index.add()

    assert workspace.index.kept_wheel("vllm", "0.20.1") is None
    first = workspace.index.wheel("vllm", "0.20.1")

    assert reopened().index.kept_wheel("vllm", "0.20.1") == first
    assert reopened(offline=True).index.kept_wheel("VLLM", "0.20.1") == first
    assert index.requests == ["/simple/vllm/"]


def test_another_index_is_another_choice(workspace: Workspace, index: MiniIndex) -> None:
    index.add()
    workspace.index.wheel("vllm", "0.20.1")
    elsewhere = PipSettings(index_url=index.url.replace("localhost", "127.0.0.1"))

    assert with_settings(workspace, elsewhere).kept_wheel("vllm", "0.20.1") is None


def test_the_list_is_kept_for_hours_and_then_fetched_again(
    workspace: Workspace, index: MiniIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.add()
    workspace.index.releases("vllm")
    workspace.index.releases("vllm")
    assert len(index.requests) == 1

    monkeypatch.setattr(package_index, "LISTING_AGE", timedelta(0))
    workspace.index.releases("vllm")

    assert len(index.requests) == 2


def test_a_list_from_the_future_is_not_believed(
    workspace: Workspace, index: MiniIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clock that jumped back must not keep an old list for years."""

    class Yesterday(datetime):
        @classmethod
        def now(cls, tz: object = None) -> "Yesterday":
            return cls.fromtimestamp(datetime.now(UTC).timestamp() - 86_400, UTC)

    index.add()
    workspace.index.releases("vllm")
    monkeypatch.setattr(package_index, "datetime", Yesterday)

    workspace.index.releases("vllm")

    assert len(index.requests) == 2


def test_a_release_newer_than_the_kept_list_is_found(workspace: Workspace, index: MiniIndex) -> None:
    index.add(version="0.20.0")
    workspace.index.releases("vllm")
    index.add(version="0.20.1")

    assert workspace.index.release("vllm", "0.20.1").version == "0.20.1"


def test_offline_the_list_stands_at_any_age(
    workspace: Workspace,
    index: MiniIndex,
    reopened: Callable[..., Workspace],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    index.add()
    workspace.index.releases("vllm")
    monkeypatch.setattr(package_index, "LISTING_AGE", timedelta(0))

    assert [r.version for r in reopened(offline=True).index.releases("vllm")] == ["0.20.1"]
    assert len(index.requests) == 1


def test_offline_without_a_list(reopened: Callable[..., Workspace], index: MiniIndex) -> None:
    with pytest.raises(OfflineError, match="the list of vllm releases would have to be fetched"):
        reopened(offline=True).index.wheel("vllm", "0.20.1")
    assert index.requests == []


def test_offline_an_unknown_release_is_said_to_be_unknown_here(
    workspace: Workspace, index: MiniIndex, reopened: Callable[..., Workspace]
) -> None:
    index.add()
    workspace.index.releases("vllm")

    with pytest.raises(OfflineError, match=r"vllm==0\.20\.2 is not in the list that was kept"):
        reopened(offline=True).index.wheel("vllm", "0.20.2")


def test_all_of_pips_indexes_are_asked(
    workspace: Workspace, index: MiniIndex, tmp_path: Path, httpserver: HTTPServer
) -> None:
    index.add(version="0.20.0")
    pages = tmp_path / "simple" / "vllm"
    pages.mkdir(parents=True)
    (pages / "index.html").write_text(
        '<a href="../../files/vllm-0.20.1-py3-none-any.whl#sha256=00">vllm-0.20.1-py3-none-any.whl</a>'
    )
    bare = tmp_path / "bare" / "vllm"
    bare.mkdir(parents=True)
    (bare / wheel_name(version="0.20.2")).write_bytes(build_wheel(version="0.20.2"))
    links = tmp_path / "links"
    links.mkdir()
    (links / wheel_name(version="0.20.3")).write_bytes(build_wheel(version="0.20.3"))
    settings = PipSettings(
        index_url=index.url,
        extra_index_urls=((tmp_path / "simple").as_uri(), (tmp_path / "bare").as_uri(), "file:///nowhere"),
        find_links=(str(links), "/nowhere", "https://links.invalid/page"),
    )

    releases = with_settings(workspace, settings).releases("vllm")

    assert [release.version for release in releases] == ["0.20.0", "0.20.1", "0.20.2", "0.20.3"]
    assert releases[1].best_wheel().url == (tmp_path / "files/vllm-0.20.1-py3-none-any.whl").as_uri()
    assert releases[3].best_wheel().size == len(build_wheel(version="0.20.3"))


def test_one_index_that_fails_does_not_hide_the_others(
    workspace: Workspace, index: MiniIndex, events: list[Event]
) -> None:
    index.add()
    settings = PipSettings(index_url="http://127.0.0.1:9/simple", extra_index_urls=(index.url,))

    assert with_settings(workspace, settings).wheel("vllm", "0.20.1").version == "0.20.1"

    [said] = [event for event in events if "error" in event.details]
    assert "refuses the connection" in str(said.details["error"])


def test_a_release_that_only_the_failing_index_might_have(workspace: Workspace, index: MiniIndex) -> None:
    index.add()
    settings = PipSettings(index_url="http://127.0.0.1:9/simple", extra_index_urls=(index.url,))

    with pytest.raises(SourceError, match="refuses the connection"):
        with_settings(workspace, settings).wheel("vllm", "0.99.0")


@pytest.mark.parametrize(
    "link", ["file:///etc/vllm-0.20.1-py3-none-any.whl", "ftp://h.invalid/vllm-0.20.1-py3-none-any.whl"]
)
def test_a_web_index_cannot_point_at_this_machine(
    workspace: Workspace, index: MiniIndex, events: list[Event], link: str
) -> None:
    page = f'<a href="{link}">vllm-0.20.1-py3-none-any.whl</a>'
    index.first = [Response(page, mimetype="text/html")]

    assert workspace.index.releases("vllm") == ()

    assert "1 files of localhost are left out" in str(events[-1].details["error"])


def test_passwords_of_indexes_are_not_shown() -> None:
    settings = PipSettings(
        index_url="https://u:canary@h.invalid",
        extra_index_urls=("https://u:canary@i.invalid",),
        proxy="http://canary@p",
    )

    assert "canary" not in repr(settings)


def test_no_index_means_local_folders_alone(workspace: Workspace, index: MiniIndex, tmp_path: Path) -> None:
    index.add()
    (tmp_path / wheel_name(version="0.20.2")).write_bytes(build_wheel(version="0.20.2"))
    settings = PipSettings(index_url=index.url, no_index=True, find_links=(tmp_path.as_uri(),))

    assert [r.version for r in with_settings(workspace, settings).releases("vllm")] == ["0.20.2"]
    assert index.requests == []


def test_the_user_and_password_of_an_index_go_there_and_nowhere_else(
    transport: Transport, store: Store, index: MiniIndex, httpserver: HTTPServer
) -> None:
    index.add()
    with_secret = index.url.replace("://", "://canary-user:canary%40pass@")
    settings = PipSettings(index_url=with_secret)

    wheel = PackageIndex(settings, transport, store).wheel("vllm", "0.20.1")

    [(request, _)] = httpserver.log
    assert request.authorization is not None
    assert (request.authorization.username, request.authorization.password) == ("canary-user", "canary@pass")
    assert "canary" not in repr(wheel)
    kept = [path.read_bytes() for path in store.root.rglob("*") if path.is_file()]
    assert kept
    assert not any(b"canary" in data for data in kept)
    assert PackageIndex(settings, transport, store).credential_for("https://elsewhere.invalid/x") is None


def test_with_nothing_set_the_client_librarys_own_index_is_asked(workspace: Workspace) -> None:
    from pypi_simple import PYPI_SIMPLE_ENDPOINT

    [base] = with_settings(workspace, PipSettings())._indexes()

    assert package_index._page_url(base, "vllm") == f"{PYPI_SIMPLE_ENDPOINT.rstrip('/')}/vllm/"
