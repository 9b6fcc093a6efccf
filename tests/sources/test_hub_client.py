"""The real huggingface_hub against a loopback Hub: what is asked, what the user reads, where tokens go."""

import hashlib
import logging
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from huggingface_hub.errors import HFValidationError, OfflineModeIsEnabled
from pytest_httpserver import HTTPServer
from werkzeug import Response

from investigator.case import RepoSpec
from investigator.errors import (
    ExitCode,
    IntegrityError,
    InvestigateError,
    LimitError,
    NotFoundError,
    OfflineError,
    SourceError,
    UsageError,
)
from investigator.model import Origin
from investigator.sources.hub import SHAPES, HubSource
from investigator.sources.hub_client import LiveHub
from investigator.sources.hub_errors import translate
from investigator.sources.hub_settings import HubSettings
from investigator.sources.transport import NetworkPolicy, Transport
from tests.support.homeless import without_home
from tests.support.hub_server import COMMIT, REPO, MiniHub, error
from tests.support.hub_server import CONFIG as CONFIG_TEXT

CANARY = "hf_canary_1f7a0c"
INFO = f"GET /api/models/{REPO}"
HEAD = f"HEAD /{REPO}/resolve/{COMMIT}/config.json"
GET = f"GET /{REPO}/resolve/{COMMIT}/config.json"


@pytest.fixture
def other() -> Iterator[HTTPServer]:
    """A second server: another port is another origin, and must not see the token."""
    server = HTTPServer()
    server.start()
    yield server
    server.stop()


@pytest.fixture
def hub(httpserver: HTTPServer) -> MiniHub:
    return MiniHub(httpserver)


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture
def client(hub: MiniHub, tmp_path: Path, waits: list[float]) -> LiveHub:
    settings = HubSettings(endpoint=hub.url, token=CANARY, cache_dir=tmp_path / "hub")
    transport = Transport(NetworkPolicy(tries=1))
    return LiveHub(settings, transport, sleep=waits.append)


@pytest.fixture(autouse=True)
def no_token_anywhere(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> Iterator[None]:
    """Whatever a test does, the canary is in no log, no output and no file."""
    caplog.set_level(logging.DEBUG)
    yield
    out, err = capfd.readouterr()
    assert CANARY not in out + err + caplog.text
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or CANARY.encode() not in path.read_bytes()


def test_a_repository_costs_three_requests_and_then_one(hub: MiniHub, client: LiveHub) -> None:
    first = client.fetch(REPO, None)
    again = client.fetch(REPO, None)

    assert hub.requests == [INFO, HEAD, GET, INFO]
    assert first.files == again.files == hub.files
    assert (first.repo, first.revision, first.origin) == (REPO, COMMIT, Origin.LIVE)
    assert set(hub.sent_tokens()) == {f"Bearer {CANARY}"}


def test_what_was_fetched_is_found_offline_without_a_socket(
    hub: MiniHub, client: LiveHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.fetch(REPO, None)

    def forbidden(*args: object, **kwargs: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", forbidden)
    monkeypatch.setattr(socket, "create_connection", forbidden)
    kept = HubSource(offline=True, client=client).fetch(RepoSpec(REPO), "draft")

    assert (kept.tree.source.origin, kept.config.revision) == (Origin.CACHE, COMMIT)
    assert kept.config.raw["block_size"] == 8
    assert "this run is offline" in kept.notes[0]


def test_a_damaged_file_in_the_cache_is_fetched_again(hub: MiniHub, client: LiveHub, tmp_path: Path) -> None:
    client.fetch(REPO, None)
    (blob,) = (tmp_path / "hub").glob("models--*/blobs/*")
    blob.write_bytes(b'{"block_size": 1}')

    assert client.cached(REPO, COMMIT) is None
    assert client.fetch(REPO, None).files == hub.files


def test_a_file_that_is_not_what_the_hub_vouches_for_is_refused(hub: MiniHub, client: LiveHub) -> None:
    headers = {"X-Repo-Commit": COMMIT, "ETag": f'"{"0" * 40}"'}
    hub.always |= {HEAD: Response(CONFIG_TEXT, 200, headers), GET: Response(CONFIG_TEXT, 200, headers)}

    with pytest.raises(IntegrityError, match="is not what the Hub vouches for"):
        client.fetch(REPO, None)


def test_the_card_names_the_target_and_modeling_files_come_along(hub: MiniHub, client: LiveHub) -> None:
    hub.info |= {"cardData": {"base_model": "some/target", "license": "mit"}, "gated": "auto"}
    hub.files["dflash.py"] = b"class DFlashDraftModel: ...\n"
    hub.files["tokenizer.json"] = b"{}"

    model = HubSource(client=client).fetch(RepoSpec(REPO), "draft")

    assert (model.target, model.gated, model.card) == ("some/target", "auto", {"license": "mit"})
    assert model.tree.paths() == ["config.json", "dflash.py"]
    assert model.tree.read("dflash.py") == hub.files["dflash.py"]


def test_of_many_modeling_files_twenty_come(hub: MiniHub, client: LiveHub) -> None:
    hub.files |= {f"part_{n:03}.py": b"x = 1\n" for n in range(50)}

    model = HubSource(client=client).fetch(RepoSpec(REPO), "draft")

    assert len(model.tree.paths()) == 21  # and config.json


def test_two_base_models_name_no_target(hub: MiniHub, client: LiveHub) -> None:
    hub.info["cardData"] = {"base_model": ["some/target", "some/other"]}

    assert HubSource(client=client).fetch(RepoSpec(REPO), "draft").target is None


def test_a_revision_is_asked_for_as_given(hub: MiniHub, client: LiveHub) -> None:
    client.fetch(REPO, "refs/pr/1")

    # The server shows the path unquoted; on the wire it is refs%2Fpr%2F1.
    assert hub.requests[0] == f"{INFO}/revision/refs/pr/1"


def test_a_renamed_repository_is_followed_and_told(hub: MiniHub, client: LiveHub) -> None:
    hub.info["id"] = "new/drafter"
    hub.always[INFO] = Response(status=307, headers={"Location": "/api/models/new/drafter"})

    model = HubSource(client=client).fetch(RepoSpec(REPO), "draft")

    assert model.config.repo == "new/drafter"
    assert f"{REPO} is called new/drafter now" in model.notes
    assert hub.requests[:2] == [INFO, "GET /api/models/new/drafter"]


def test_a_redirect_of_the_file_to_another_port_gets_no_token(
    hub: MiniHub, client: LiveHub, other: HTTPServer
) -> None:
    other.expect_request("/blob").respond_with_data(hub.files["config.json"])
    hub.always[HEAD] = Response(
        status=302,
        headers={
            "Location": other.url_for("/blob"),
            "X-Repo-Commit": COMMIT,
            "X-Linked-Etag": f'"{hashlib.sha256(CONFIG_TEXT).hexdigest()}"',
            "X-Linked-Size": str(len(hub.files["config.json"])),
        },
    )

    assert client.fetch(REPO, None).files == hub.files
    assert hub.requests == [INFO, HEAD]
    assert [request.headers.get("Authorization") for request, _ in other.log] == [None]


def test_a_redirect_of_the_metadata_to_another_port_gets_no_token(
    hub: MiniHub, client: LiveHub, other: HTTPServer
) -> None:
    other.expect_request("/stolen").respond_with_data("{}")
    hub.always[INFO] = Response(status=302, headers={"Location": other.url_for("/stolen")})

    with pytest.raises(SourceError):
        client.fetch(REPO, None)

    assert [request.headers.get("Authorization") for request, _ in other.log] == [None]


def no_commit_header(hub: MiniHub) -> None:
    hub.always[HEAD] = Response(b"", 200, {"ETag": '"x"', "Content-Length": "5"})


def cut_off(hub: MiniHub) -> None:
    hub.always[GET] = Response(hub.files["config.json"][:20], 200, {"X-Repo-Commit": COMMIT})


def answer(key: str, response: Response) -> Callable[[MiniHub], None]:
    return lambda hub: hub.always.update({key: response})


@pytest.mark.parametrize(
    ("prepare", "said", "advice", "requests"),
    [
        pytest.param(
            answer(INFO, error(404, "RepoNotFound")),
            "does not exist on the Hub, or it is private (404)",
            "HF_TOKEN",
            1,
            id="missing",
        ),
        pytest.param(
            answer(INFO, error(401, "RepoNotFound")),
            "does not exist on the Hub, or it is private (401)",
            "HF_TOKEN",
            1,
            id="private",
        ),
        pytest.param(
            answer(INFO, error(401)), "does not accept the token (401)", "HF_TOKEN", 1, id="401 without code"
        ),
        pytest.param(answer(INFO, error(403)), "access is refused (403)", "HF_TOKEN", 1, id="403 plain"),
        pytest.param(
            answer(INFO, error(403, X_Error_Message="Access to this resource is disabled.")),
            "has been disabled by the Hub",
            "another checkpoint",
            1,
            id="disabled",
        ),
        pytest.param(answer(INFO, error(418)), "answers 418", "HF_ENDPOINT", 1, id="another status"),
        pytest.param(
            answer(INFO, error(404, "RevisionNotFound")), "has no revision", "commits/main", 1, id="revision"
        ),
        pytest.param(
            answer(HEAD, error(401, "GatedRepo", commit=True)),
            "is gated on the Hub (401)",
            "accept its terms at",
            2,
            id="gated, anonymous",
        ),
        pytest.param(
            answer(HEAD, error(403, "GatedRepo", commit=True)),
            "is gated on the Hub (403)",
            "accept its terms at",
            2,
            id="gated, not granted",
        ),
        pytest.param(
            answer(HEAD, error(404, "EntryNotFound", commit=True)), "lacks a file", "again", 2, id="no entry"
        ),
        pytest.param(no_commit_header, "does not answer like a Hub", "HF_ENDPOINT", 2, id="no commit header"),
        pytest.param(
            answer(INFO, Response(b'{"id": "some/dr', mimetype="application/json")),
            "sent an answer that cannot be read",
            "HF_ENDPOINT",
            1,
            id="truncated JSON",
        ),
        pytest.param(
            answer(INFO, Response(b"<html>sign in to the hotel</html>", mimetype="text/html")),
            "sent an answer that cannot be read",
            "HF_ENDPOINT",
            1,
            id="captive portal",
        ),
        pytest.param(
            answer(INFO, Response(b'{"id": "some/drafter", "siblings": []}', mimetype="application/json")),
            "does not answer like a Hub",
            "HF_ENDPOINT",
            1,
            id="no commit",
        ),
        pytest.param(answer(INFO, error(502)), "answers 502", "try again later", 3, id="502 each time"),
        pytest.param(
            answer(INFO, error(429, RateLimit='"api";r=0;t=240')),
            "it asks to wait 240 s",
            "HF_TOKEN",
            1,
            id="429, longer than a run",
        ),
        pytest.param(cut_off, "cannot be kept", "cut off", 3, id="short body"),
    ],
)
def test_what_the_user_reads(
    hub: MiniHub,
    client: LiveHub,
    prepare: Callable[[MiniHub], None],
    said: str,
    advice: str,
    requests: int,
) -> None:
    prepare(hub)

    with pytest.raises(InvestigateError) as caught:
        HubSource(client=client).fetch(RepoSpec(REPO), "draft")

    assert said in str(caught.value)
    assert advice in caught.value.advice
    assert caught.value.exit_code is ExitCode.INCOMPLETE
    assert len(hub.requests) == requests
    assert CANARY not in f"{caught.value!r} {caught.value.advice} {caught.value.__cause__}"


def test_a_busy_hub_is_asked_again_after_the_time_it_names(
    hub: MiniHub, client: LiveHub, waits: list[float]
) -> None:
    hub.before[INFO] = [error(502), error(429, RateLimit='"api";r=0;t=7')]

    assert client.fetch(REPO, None).files == hub.files
    assert waits == [0.5, 7.0]
    assert hub.requests == [INFO, INFO, INFO, HEAD, GET]


def test_a_rate_limit_header_with_quota_left_names_no_wait(
    hub: MiniHub, client: LiveHub, waits: list[float]
) -> None:
    """The header is on every answer; only ``r=0`` means that the quota is used up."""
    hub.before[INFO] = [error(429, RateLimit='"api";r=12;t=240')]

    client.fetch(REPO, None)

    assert waits == [0.5]


def test_a_repository_without_config_is_told_apart(hub: MiniHub, client: LiveHub) -> None:
    hub.files = {"adapter_config.json": b"{}"}

    with pytest.raises(NotFoundError, match=r"has no config\.json"):
        client.fetch(REPO, None)


def test_a_huge_config_is_not_downloaded(hub: MiniHub, client: LiveHub) -> None:
    hub.files = {"config.json": b" " * (4 * 1024 * 1024 + 1)}

    with pytest.raises(InvestigateError, match="4,194,305 bytes"):
        client.fetch(REPO, None)
    assert hub.requests == [INFO]


def header(shapes: str) -> bytes:
    """The first bytes of a safetensors file, and some that stand for the weights."""
    return len(shapes).to_bytes(8, "little") + shapes.encode() + b"\0" * 1000


SHAPES_JSON = '{"__metadata__": {"format": "pt"}, "fc.weight": {"dtype": "BF16", "shape": [16, 48]}}'


def test_shapes_come_from_the_header_by_range(hub: MiniHub, client: LiveHub) -> None:
    hub.files["model.safetensors"] = header(SHAPES_JSON)

    model = HubSource(client=client).fetch(RepoSpec(REPO), "draft", shapes=True)

    assert model.config.tensors == {"fc.weight": (16, 48)}
    assert b'"fc.weight": [16, 48]' in model.tree.read(SHAPES)
    assert hub.requests == [INFO, HEAD, GET, f"GET /{REPO}/resolve/{COMMIT}/model.safetensors"]


def test_a_long_header_takes_a_second_range(hub: MiniHub, client: LiveHub) -> None:
    many = ", ".join(f'"layer.{i}": {{"dtype": "BF16", "shape": [{i}]}}' for i in range(3000))
    hub.files["model.safetensors"] = header(f"{{{many}}}")

    tensors = client.fetch(REPO, None, shapes=True).tensors

    assert tensors is not None
    assert (len(tensors), tensors["layer.2999"]) == (3000, (2999,))
    assert len(hub.requests) == 5


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\xff" * 8 + b"rest", "a header of"),
        (b"ab", "shorter than"),
        (header('{"fc.weight": {"dtype": "BF16", "shape": [16, -1]}}'), "strange shape"),
        (header('{"fc.weight": {"dtype": "BF16"}}'), "no shape"),
        (header("[]"), "an object was expected"),
        (header(SHAPES_JSON)[:40], "ends within its header"),
    ],
)
def test_a_strange_header_leaves_shapes_unknown_and_says_so(
    hub: MiniHub, client: LiveHub, data: bytes, said: str
) -> None:
    hub.files["model.safetensors"] = data

    model = client.fetch(REPO, None, shapes=True)

    assert model.tensors is None
    assert said in model.notes[0]


def test_weights_are_not_swallowed_from_a_server_without_ranges(hub: MiniHub, client: LiveHub) -> None:
    hub.ranges = False
    hub.files["model.safetensors"] = header(SHAPES_JSON) + b"\0" * 500_000

    model = client.fetch(REPO, None, shapes=True)

    assert model.tensors is None
    assert "were not read" in model.notes[0]


def test_an_unreachable_hub_is_told_within_the_connect_timeout(tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    client = LiveHub(HubSettings(endpoint=f"http://127.0.0.1:{port}", cache_dir=tmp_path))

    with pytest.raises(SourceError, match=r"cannot be reached: 127\.0\.0\.1 refuses"):
        client.fetch(REPO, None)


@pytest.mark.parametrize(
    "endpoint",
    [
        "http://hub.example.org",
        "ftp://hub.example.org",
        "https://user:secret@hub.example.org",
        "hub.example.org",
        "https://[hub",
        "https://hub.example.org:port",
    ],
)
def test_a_token_is_not_sent_in_the_clear(endpoint: str) -> None:
    with pytest.raises(UsageError, match="HF_ENDPOINT") as caught:
        HubSettings.from_environment({"HF_ENDPOINT": endpoint, "HF_TOKEN": CANARY})

    assert "secret" not in str(caught.value)


def test_settings_do_not_show_the_token() -> None:
    settings = HubSettings.from_environment({"HF_TOKEN": CANARY, "HF_ENDPOINT": "https://hub.example.org/"})

    assert CANARY not in repr(settings)
    assert settings.endpoint == "https://hub.example.org"


def test_a_user_without_a_home_is_no_reason_to_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    without_home(monkeypatch)

    assert HubSettings.from_environment({}).endpoint == "https://huggingface.co"


def test_a_file_in_the_cache_that_is_too_large_is_not_read(client: LiveHub, tmp_path: Path) -> None:
    client.fetch(REPO, None)
    (blob,) = (tmp_path / "hub").glob("models--*/blobs/*")
    with blob.open("r+b") as file:
        file.truncate((4 << 20) + 1)

    assert client.cached(REPO, COMMIT) is None
    with pytest.raises(LimitError, match=r"config.json has 4,194,305 bytes; at most 4,194,304") as caught:
        client.fetch(REPO, None)

    assert caught.value.advice == "remove it from the Hub's cache, or name a model repository"


@pytest.mark.parametrize(
    ("caught", "kind", "said", "advice"),
    [
        (OfflineModeIsEnabled("no"), OfflineError, "HF_HUB_OFFLINE is set", "unset HF_HUB_OFFLINE"),
        (HFValidationError("no"), NotFoundError, "is not a name the Hub allows", "check the name"),
    ],
)
def test_what_the_library_refuses_by_itself(
    caught: Exception, kind: type[SourceError], said: str, advice: str
) -> None:
    shown = translate(caught, "some/name", None, "https://hub.example.org")

    assert isinstance(shown, kind)
    assert said in str(shown)
    assert shown.advice == advice
