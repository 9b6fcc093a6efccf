"""The relay hands everything on as it is, and counts it."""

import gzip
import json
from collections.abc import Iterator

import httpx
import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from benchmarks.wire import Sent, Wire, name_of, totals, with_links_to

PAGE = {"files": [{"filename": "toy-1-py3-none-any.whl", "url": "https://files.example/a/toy-1.whl"}]}


def page(request: Request) -> Response:
    """A project's page as an index sends it, packed where that is accepted."""
    body = json.dumps(PAGE).encode()
    if "gzip" in request.headers.get("Accept-Encoding", ""):
        return Response(gzip.compress(body), headers={"Content-Encoding": "gzip"})
    return Response(body)


def part(request: Request) -> Response:
    assert request.headers["Range"] == "bytes=2-4"
    return Response(b"234", status=206, headers={"Content-Range": "bytes 2-4/10"})


@pytest.fixture
def wire(httpserver: HTTPServer) -> Iterator[Wire]:
    httpserver.expect_request("/simple/toy/").respond_with_handler(page)
    httpserver.expect_request("/simple/toy-1.whl").respond_with_handler(part)
    with Wire(httpserver.url_for("/simple/")) as made:
        yield made


def test_links_of_a_page_lead_to_the_relay(wire: Wire) -> None:
    answer = httpx.get(f"{wire.environment['PIP_INDEX_URL']}/toy/")

    [file] = answer.json()["files"]
    assert file["url"] == f"{wire.address}/at/files.example/a/toy-1.whl"
    assert wire.upstream("/at/files.example/a/toy-1.whl") == "https://files.example/a/toy-1.whl"


def test_bytes_are_counted_as_they_go_over_the_wire(wire: Wire) -> None:
    with httpx.stream("GET", f"{wire.address}/simple/toy/") as answer:
        packed = b"".join(answer.iter_raw())

    assert json.loads(gzip.decompress(packed))["files"]
    assert wire.taken() == [Sent("toy", len(packed))]
    assert wire.taken() == []


def test_a_range_is_asked_for_and_handed_on(wire: Wire) -> None:
    answer = httpx.get(f"{wire.address}/simple/toy-1.whl", headers={"Range": "bytes=2-4"})

    assert (answer.status_code, answer.content) == (206, b"234")
    assert answer.headers["content-range"] == "bytes 2-4/10"
    assert wire.taken() == [Sent("toy-1.whl", 3)]


def test_nothing_goes_by_the_relay(wire: Wire) -> None:
    environment = wire.environment

    assert environment["NO_PROXY"] == "127.0.0.1"
    with pytest.raises(httpx.ConnectError), httpx.Client(proxy=environment["HTTPS_PROXY"]) as client:
        client.get("https://files.example/")


def test_totals_are_by_file() -> None:
    assert totals([Sent("a", 10), Sent("b", 1), Sent("a", 5)]) == {"a": (2, 15), "b": (1, 1)}


@pytest.mark.parametrize(
    ("path", "name"), [("/simple/vllm/", "vllm"), ("/at/h/x/vllm-1.whl?sig=1", "vllm-1.whl")]
)
def test_an_answer_is_named_after_its_file(path: str, name: str) -> None:
    assert name_of(path) == name


def test_only_links_to_other_hosts_are_changed() -> None:
    html = b'<a href="https://files.example/a.whl#sha256=1">a</a> <a href="b.whl">b</a>'

    assert with_links_to("http://127.0.0.1:1", html) == (
        b'<a href="http://127.0.0.1:1/at/files.example/a.whl#sha256=1">a</a> <a href="b.whl">b</a>'
    )
