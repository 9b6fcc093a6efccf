"""The one door to the network: what it refuses, retries, counts, and keeps to itself."""

import gzip
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from investigator.errors import LimitError, NotFoundError, OfflineError, SourceError, UsageError
from investigator.events import Event, EventKind
from investigator.sources import transport as transport_module
from investigator.sources.transport import (
    Credential,
    MissingError,
    NetworkPolicy,
    StatusError,
    Transport,
    UnreachableError,
    Usage,
)
from investigator.sources.web import basic_credential, redirect_target
from tests.support.fault_proxy import fault_proxy

CANARY = "canary-f3a1"


@pytest.fixture
def other(make_httpserver: HTTPServer) -> Iterator[HTTPServer]:
    """A second server, on another port: another origin."""
    server = HTTPServer(port=0)
    server.start()
    yield server
    server.clear()
    server.stop()


def fetch(transport: Transport, url: str, **options: object) -> bytes:
    return transport.get(url, what="the thing", source="test", **options).body  # type: ignore[arg-type]


def closed_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def test_an_answer_with_its_counts_and_event(
    transport: Transport, httpserver: HTTPServer, events: list[Event]
) -> None:
    httpserver.expect_request("/a").respond_with_data(b"hello", headers={"X-Some-Thing": "1"})

    answer = transport.get(httpserver.url_for("/a?secret=1"), what="the thing", source="test")

    assert (answer.status, answer.body, answer.headers["x-some-thing"]) == (200, b"hello", "1")
    assert answer.url == httpserver.url_for("/a")
    assert transport.usage() == Usage(requests=1, bytes=5)
    [event] = events
    assert event.kind is EventKind.FETCHED
    assert event.agent is None
    details = dict(event.details)
    assert details.pop("seconds") >= 0  # type: ignore[operator]
    assert details == {
        "source": "test",
        "what": "the thing",
        "host": f"localhost:{httpserver.port}",
        "bytes": 5,
        "requests": 1,
    }


def test_bytes_are_counted_as_they_travel(transport: Transport, httpserver: HTTPServer) -> None:
    body = b"a" * 10_000
    packed = gzip.compress(body, mtime=0)
    httpserver.expect_request("/a").respond_with_data(packed, headers={"Content-Encoding": "gzip"})

    assert fetch(transport, httpserver.url_for("/a")) == body
    assert transport.usage().bytes == len(packed)


def test_each_agent_counts_for_itself_and_for_the_run(
    transport: Transport, httpserver: HTTPServer, events: list[Event]
) -> None:
    httpserver.expect_request("/a").respond_with_data(b"hello")
    hub, reference = transport.for_agent("hub"), transport.for_agent("reference")

    fetch(hub, httpserver.url_for("/a"))
    fetch(hub, httpserver.url_for("/a"))
    fetch(reference, httpserver.url_for("/a"))

    assert hub.usage() == Usage(2, 10)
    assert reference.usage() == Usage(1, 5)
    assert transport.usage() == Usage(3, 15)
    assert [event.agent for event in events] == ["hub", "hub", "reference"]


def test_threads_share_a_transport(transport: Transport, httpserver: HTTPServer) -> None:
    httpserver.expect_request("/a").respond_with_data(b"hello")
    bodies: list[bytes] = []

    def work() -> None:
        for _ in range(5):
            bodies.append(fetch(transport, httpserver.url_for("/a")))

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert bodies == [b"hello"] * 30
    assert transport.usage() == Usage(30, 150)


def test_offline_opens_no_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: object, **__: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", forbidden)
    monkeypatch.setattr(socket, "getaddrinfo", forbidden)
    offline = Transport(NetworkPolicy(offline=True))

    with pytest.raises(
        OfflineError, match=r"the thing would have to be fetched from files\.invalid"
    ) as error:
        fetch(offline, "https://files.invalid/a")

    assert "without --offline" in error.value.advice
    with pytest.raises(OfflineError):
        offline.require("a repository", "git.invalid")
    assert offline.usage() == Usage(0, 0)


@pytest.mark.parametrize("status", [500, 502, 503, 504, 408, 429])
def test_trouble_that_may_pass_is_tried_again(
    transport: Transport, httpserver: HTTPServer, pauses: list[float], status: int
) -> None:
    httpserver.expect_ordered_request("/a").respond_with_data(b"", status=status)
    httpserver.expect_ordered_request("/a").respond_with_data(b"", status=status)
    httpserver.expect_ordered_request("/a").respond_with_data(b"at last")

    assert fetch(transport, httpserver.url_for("/a")) == b"at last"
    assert pauses == [0.5, 1.0]
    assert transport.usage().requests == 3


def test_trouble_that_stays_is_reported(transport: Transport, httpserver: HTTPServer) -> None:
    httpserver.expect_request("/a").respond_with_data(b"down for repair", status=503)

    with pytest.raises(StatusError, match=r"the thing: .*/a answers 503") as error:
        fetch(transport, httpserver.url_for("/a"))

    assert error.value.response.body == b"down for repair"
    assert "try again later" in error.value.advice
    assert transport.usage().requests == 3


@pytest.mark.parametrize(
    ("status", "advice"),
    [(400, "check the address"), (401, "token"), (403, "access is refused"), (407, "password")],
)
def test_a_refusal_is_not_tried_again(
    transport: Transport, httpserver: HTTPServer, status: int, advice: str
) -> None:
    httpserver.expect_request("/a").respond_with_data(b"", status=status)

    with pytest.raises(StatusError, match=f"answers {status}") as error:
        fetch(transport, httpserver.url_for("/a"))

    assert advice in error.value.advice
    assert transport.usage().requests == 1


@pytest.mark.parametrize("status", [404, 410])
def test_nothing_there(transport: Transport, httpserver: HTTPServer, status: int) -> None:
    httpserver.expect_request("/a").respond_with_data(b"", status=status)

    with pytest.raises(NotFoundError, match="there is no") as error:
        fetch(transport, httpserver.url_for("/a"))

    assert isinstance(error.value, MissingError)
    assert transport.usage().requests == 1


def test_a_status_that_the_caller_expects_is_an_answer(transport: Transport, httpserver: HTTPServer) -> None:
    httpserver.expect_request("/a").respond_with_data(b"slow down", status=429)

    answer = transport.get(httpserver.url_for("/a"), what="the thing", source="test", expect=(200, 429))

    assert (answer.status, answer.body) == (429, b"slow down")
    assert transport.usage().requests == 1


def test_retry_after_is_obeyed(transport: Transport, httpserver: HTTPServer, pauses: list[float]) -> None:
    httpserver.expect_ordered_request("/a").respond_with_data(b"", status=429, headers={"Retry-After": "7"})
    httpserver.expect_ordered_request("/a").respond_with_data(b"now")

    assert fetch(transport, httpserver.url_for("/a")) == b"now"
    assert pauses == [7.0]


def test_retry_after_an_hour_is_reported_at_once(
    transport: Transport, httpserver: HTTPServer, pauses: list[float]
) -> None:
    httpserver.expect_request("/a").respond_with_data(b"", status=429, headers={"Retry-After": "3600"})

    with pytest.raises(StatusError) as error:
        fetch(transport, httpserver.url_for("/a"))

    assert "3600" in error.value.advice
    assert pauses == []


def test_waiting_never_goes_past_the_deadline(transport: Transport, httpserver: HTTPServer) -> None:
    httpserver.expect_request("/a").respond_with_data(b"", status=429, headers={"Retry-After": "7"})

    with pytest.raises(UnreachableError, match="asks to wait 7 s, longer than this run may take"):
        fetch(transport.for_agent("hub", seconds=5), httpserver.url_for("/a"))


def test_nothing_is_sent_past_the_deadline(transport: Transport, httpserver: HTTPServer) -> None:
    late = transport.for_agent("hub", seconds=0)

    with pytest.raises(UnreachableError, match="time for it is up"):
        fetch(late, httpserver.url_for("/a"))

    assert late.usage().requests == 0


def test_a_server_that_drips_is_cut_off_at_the_deadline(transport: Transport, httpserver: HTTPServer) -> None:
    def drip() -> Iterator[bytes]:
        for _ in range(100):
            time.sleep(0.05)
            yield b"x"

    httpserver.expect_request("/a").respond_with_handler(lambda _: Response(drip()))
    started = time.monotonic()

    with pytest.raises(UnreachableError, match="time for it is up"):
        fetch(transport.for_agent("hub", seconds=0.3), httpserver.url_for("/a"))

    assert time.monotonic() - started < 2


def test_a_body_over_the_limit_is_not_read(transport: Transport, httpserver: HTTPServer) -> None:
    httpserver.expect_request("/a").respond_with_data(b"x" * 2_000_000)

    with pytest.raises(LimitError, match="sends more than 1000 bytes"):
        fetch(transport, httpserver.url_for("/a"), limit=1000)

    assert transport.usage().bytes == 0  # its Content-Length was enough


def test_a_body_that_unpacks_over_the_limit_is_dropped(transport: Transport, httpserver: HTTPServer) -> None:
    bomb = gzip.compress(bytes(5_000_000))
    httpserver.expect_request("/a").respond_with_data(bomb, headers={"Content-Encoding": "gzip"})

    with pytest.raises(LimitError, match="sends more than 100000 bytes"):
        fetch(transport, httpserver.url_for("/a"), limit=100_000)


def test_a_body_over_the_limit_of_every_answer(transport: Transport, httpserver: HTTPServer) -> None:
    headers = {"Content-Encoding": "gzip"}
    httpserver.expect_request("/a").respond_with_data(gzip.compress(bytes(16 << 20)), headers=headers)
    httpserver.expect_request("/b").respond_with_data(gzip.compress(bytes((16 << 20) + 1)), headers=headers)

    assert len(fetch(transport, httpserver.url_for("/a"))) == 16 << 20
    with pytest.raises(LimitError, match="sends more than 16777216 bytes"):
        fetch(transport, httpserver.url_for("/b"))


def test_thirty_at_once_share_eight_connections(httpserver: HTTPServer) -> None:
    """Patient, so that none is given up and tried again while the server still counts it."""

    def slow(request: Request) -> Response:
        time.sleep(0.05)
        return Response(b"x")

    httpserver.expect_request("/a").respond_with_handler(slow)
    patient = NetworkPolicy(connect_timeout=30, read_timeout=30)
    with (
        Transport(patient) as transport,
        fault_proxy(httpserver.port) as proxy,
        ThreadPoolExecutor(30) as pool,
    ):
        url = f"http://127.0.0.1:{proxy.port}/a"
        bodies = list(pool.map(lambda _: fetch(transport, url), range(30)))

    assert bodies == [b"x"] * 30
    assert 1 < proxy.most_under_way <= 8


def test_the_body_of_a_refusal_is_cut(transport: Transport, httpserver: HTTPServer) -> None:
    httpserver.expect_request("/a").respond_with_data(b"x" * 5_000_000, status=403)

    with pytest.raises(StatusError) as error:
        fetch(transport, httpserver.url_for("/a"))

    assert len(error.value.response.body) <= transport_module.ERROR_BODY_LIMIT


def test_refused_connection(transport: Transport) -> None:
    with pytest.raises(UnreachableError, match=r"127\.0\.0\.1 refuses the connection"):
        fetch(transport, f"http://127.0.0.1:{closed_port()}/a")
    assert transport.usage().requests == 3


def test_unknown_name(transport: Transport, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)

    with pytest.raises(UnreachableError, match=r"the name files\.invalid is not found"):
        fetch(transport, "http://files.invalid/a")


def test_a_resolver_that_has_too_much_to_do(
    transport: Transport, httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, asked = socket.getaddrinfo, []

    def busy_once(*names: object, **how: object) -> object:
        asked.append(names)
        if len(asked) == 1:
            raise socket.gaierror(-3, "Temporary failure in name resolution")
        return real(*names, **how)  # type: ignore[arg-type]

    httpserver.expect_request("/a").respond_with_data(b"here")
    monkeypatch.setattr(socket, "getaddrinfo", busy_once)

    assert fetch(transport, httpserver.url_for("/a")) == b"here"
    assert len(asked) == 2


def test_silence(transport: Transport, httpserver: HTTPServer) -> None:
    done = threading.Event()

    def silent(_: Request) -> Response:
        done.wait(10)
        return Response(b"")

    httpserver.expect_request("/a").respond_with_handler(silent)
    impatient = Transport(NetworkPolicy(read_timeout=0.1, tries=2), sleep=lambda _: None)
    try:
        with pytest.raises(UnreachableError, match="localhost stopped answering"):
            fetch(impatient, httpserver.url_for("/a"))
    finally:
        done.set()
    assert impatient.usage().requests == 2


def test_a_certificate_that_nobody_vouches_for(transport: Transport, tls_server: HTTPServer) -> None:
    with pytest.raises(UnreachableError, match="certificate of localhost is not accepted") as error:
        fetch(transport, tls_server.url_for("/a"))

    assert "cert" in error.value.advice


def test_pips_own_certificate_is_enough(tls_server: HTTPServer, certificate: Path) -> None:
    with Transport(NetworkPolicy(ca_bundle=str(certificate))) as transport:
        assert fetch(transport, tls_server.url_for("/a")) == b"over TLS"


def test_pips_trusted_host_is_not_verified(tls_server: HTTPServer) -> None:
    with Transport(NetworkPolicy(insecure_hosts=(f"localhost:{tls_server.port}",))) as transport:
        assert fetch(transport, tls_server.url_for("/a")) == b"over TLS"


def test_a_bundle_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("no certificate")

    with pytest.raises(UsageError, match="cannot be used"):
        fetch(Transport(NetworkPolicy(ca_bundle=str(tmp_path / "ca.pem"))), "https://localhost:1/")


def test_a_credential_goes_to_its_origin(transport: Transport, httpserver: HTTPServer) -> None:
    httpserver.expect_request("/a", headers={"Authorization": f"Bearer {CANARY}"}).respond_with_data(b"yours")
    credential = Credential(httpserver.url_for("/"), f"Bearer {CANARY}")

    assert fetch(transport, httpserver.url_for("/a"), credential=credential) == b"yours"
    assert CANARY not in repr(credential)


def test_a_credential_is_dropped_when_a_redirect_leaves_its_origin(
    transport: Transport, httpserver: HTTPServer, other: HTTPServer, events: list[Event]
) -> None:
    httpserver.expect_request("/a").respond_with_data(status=302, headers={"Location": other.url_for("/b")})
    other.expect_request("/b").respond_with_data(b"elsewhere")
    credential = Credential(httpserver.url_for("/"), f"Bearer {CANARY}")

    assert fetch(transport, httpserver.url_for("/a"), credential=credential) == b"elsewhere"

    [(first, _)], [(second, _)] = httpserver.log, other.log
    assert first.headers["Authorization"] == f"Bearer {CANARY}"
    assert CANARY not in str(second.headers)
    assert CANARY not in repr(events)


def test_a_redirect_elsewhere_can_be_refused(
    transport: Transport, httpserver: HTTPServer, other: HTTPServer
) -> None:
    httpserver.expect_request("/a").respond_with_data(status=302, headers={"Location": other.url_for("/b")})

    with pytest.raises(SourceError, match="leaves the server that was asked"):
        fetch(transport, httpserver.url_for("/a"), same_host=True)

    assert other.log == []


def test_redirects_end(transport: Transport, httpserver: HTTPServer) -> None:
    httpserver.expect_request("/a").respond_with_data(status=302, headers={"Location": "/a"})

    with pytest.raises(SourceError, match="redirects more than 5 times"):
        fetch(transport, httpserver.url_for("/a"))

    assert transport.usage().requests == 6


@pytest.mark.parametrize(
    ("location", "why"),
    [
        ("http://example.invalid/b", "leaves TLS"),
        ("https://127.0.0.1/b", "private network"),
        ("https://[::1]/b", "private network"),
        ("https://10.0.0.7/b", "private network"),
        ("https://169.254.169.254/latest", "private network"),
        ("https://localhost/b", "private network"),
        ("https://user:pass@example.invalid/b", "no plain web address"),
        ("file:///etc/passwd", "no plain web address"),
        ("https://example.invalid:0/b", "no plain web address"),
        ("https://[::1/b", "no plain web address"),
        ("https://2130706433/b", "private network"),
        ("https://0x7f.1/b", "private network"),
        ("https://[::ffff:127.0.0.1]/b", "private network"),
    ],
)
def test_where_a_redirect_may_not_lead(location: str, why: str) -> None:
    with pytest.raises(SourceError, match=why) as error:
        redirect_target(urlsplit("https://index.invalid/a"), location, False, "the thing")

    assert "pass" not in str(error.value).replace("passwd", "")


@pytest.mark.parametrize(
    "url",
    [
        "ftp://h/a",
        "file:///etc/passwd",
        "https://",
        "https://u:p@h/",
        "https://h/a b",
        "https://h:0/",
        "https://[h/",
    ],
)
def test_addresses_that_are_never_asked(transport: Transport, url: str) -> None:
    with pytest.raises(UsageError, match="not an address that can be asked"):
        fetch(transport, url)
    assert transport.usage().requests == 0


def test_secrets_have_one_way_in(transport: Transport, httpserver: HTTPServer) -> None:
    with pytest.raises(ValueError, match="credential"):
        fetch(transport, httpserver.url_for("/a"), headers={"authorization": CANARY})


def test_cookies_are_not_kept(transport: Transport, httpserver: HTTPServer) -> None:
    httpserver.expect_request("/a").respond_with_data(b"", headers={"Set-Cookie": "id=1"})

    fetch(transport, httpserver.url_for("/a"))
    fetch(transport, httpserver.url_for("/a"))

    assert "Cookie" not in httpserver.log[1][0].headers


def test_basic_credentials_are_encoded_as_the_standard_says() -> None:
    """The example of RFC 7617, section 2."""
    assert basic_credential("https://h", "Aladdin", "open sesame").authorization == (
        "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="
    )


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A self-made certificate for localhost; the key stands in the same file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "localhost.pem"
    path.write_bytes(
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()) + made.public_bytes(Encoding.PEM)
    )
    return path


@pytest.fixture
def tls_server(certificate: Path) -> Iterator[HTTPServer]:
    """A server with that certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server = HTTPServer(port=0, ssl_context=context)
    server.expect_request("/a").respond_with_data(b"over TLS")
    server.start()
    yield server
    server.clear()
    server.stop()
