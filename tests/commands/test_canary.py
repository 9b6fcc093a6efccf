"""Tokens and passwords go to the server that they belong to, and stand nowhere else.

Each is a word that nothing else says; afterwards it is looked for in both streams (with the debug log
of every library), the run folder, the store, and in what every server was asked.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from tests.support.fault_proxy import Fault
from tests.support.whole_case import WholeCase, whole_case

ALL = HUB, GITHUB, INDEX, PROXY, SYMPTOM = tuple(f"canary{n}7f3a" for n in range(5))
SECRETS = {
    "HF_TOKEN": f"hf_{HUB}",
    "GITHUB_TOKEN": f"ghp_{GITHUB}",
    "HTTPS_PROXY": f"http://u:{PROXY}@127.0.0.1:9",
}


@pytest.fixture
def case(tmp_path: Path) -> Iterator[WholeCase]:
    with whole_case(tmp_path, stall=0.5) as running:
        yield running


@pytest.fixture
def stranger() -> Iterator[HTTPServer]:
    """A server that nobody named, to which others redirect."""
    with HTTPServer(port=0) as server:
        server.expect_request("/").respond_with_data("hello")
        yield server


def run(case: WholeCase, *arguments: str, **more: str) -> str:
    """One run that logs everything; all that it left as one text."""
    (case.folder / "sitecustomize.py").write_text("import logging\nlogging.basicConfig(level=1)\n")
    address = f"http://me:{INDEX}@127.0.0.1:{case.proxies['index'].port}/simple/"
    environment = {**SECRETS, "PIP_INDEX_URL": address, **more}
    environment["PYTHONPATH"] = f"{case.environment(case.folder)['PYTHONPATH']}:{case.folder}"
    done = case.run(case.folder / "out", case.folder / "cache", "-v", *arguments, **environment)
    left = [done.stdout, done.stderr]
    for folder in ("out", "cache", "home"):
        for path in (case.folder / folder).rglob("*"):
            left.append(str(path))
            left += [path.read_bytes().decode("utf-8", "replace")] if path.is_file() else []
    return "\n".join(left)


def assert_nowhere(text: str) -> None:
    found = {word: text[max(0, text.find(word) - 100) :][:200] for word in ALL if word in text}
    assert found == {}


def asked(server: HTTPServer) -> str:
    """Everything that a server was sent, in one text; basic authentication unpacked."""
    lines = []
    for request, _ in server.log:
        user = request.authorization
        plain = f"{user.username}:{user.password}" if user is not None and user.type == "basic" else ""
        lines.append(f"{request.url} {dict(request.headers)} {plain} {request.get_data()!r}")
    return "\n".join(lines)


def assert_stayed_home(servers: Mapping[str, HTTPServer]) -> None:
    """No server was sent the secret of another."""
    for own, server in servers.items():
        text = asked(server)
        assert [word for word in ALL if word != own and word in text] == []


def servers(case: WholeCase) -> dict[str, HTTPServer]:
    return {HUB: case.hub.server, GITHUB: case.github.server, INDEX: case.index.server}


def test_a_run_that_finds_everything(case: WholeCase) -> None:
    text = run(case)

    assert "cache-drop" in text
    assert_nowhere(text)
    assert_stayed_home(servers(case))
    for own, server in servers(case).items():
        assert own in asked(server)


@pytest.mark.slow
@pytest.mark.parametrize("fault", [Fault.CUT, Fault.NOISE, Fault.UNAVAILABLE, Fault.BUSY])
def test_runs_in_which_everything_fails(case: WholeCase, fault: Fault) -> None:
    for proxy in case.proxies.values():
        proxy.every = fault

    text = run(case)

    assert "127.0.0.1" in text
    assert_nowhere(text)
    assert_stayed_home(servers(case))


@pytest.mark.slow
def test_servers_that_redirect_to_a_stranger(case: WholeCase, stranger: HTTPServer) -> None:
    def elsewhere(request: Request) -> Response:
        return Response(status=302, headers={"Location": stranger.url_for(request.path)})

    for server in servers(case).values():
        server.clear()
        server.expect_request("/", method="GET").respond_with_handler(elsewhere)
        server.clear_log()
        for prefix in ("/simple/vllm/", "/api/models/some/drafter", "/api/v3/repos/some/engine/pulls/7"):
            server.expect_request(prefix).respond_with_handler(elsewhere)

    text = run(case)

    assert stranger.log
    assert_nowhere(text)
    assert_stayed_home({**servers(case), "nobody": stranger})


@pytest.mark.slow
def test_what_a_user_writes_where_it_does_not_belong(case: WholeCase) -> None:
    log = case.folder / "serve.log"
    log.write_text(
        f"HF_TOKEN=hf_{SYMPTOM} vllm serve some/target --api-key {SYMPTOM}\n"
        "SpecDecoding metrics: Mean acceptance length: 1.18, Accepted: 18 tokens, Drafted: 1500 tokens\n"
    )

    assert_nowhere(run(case, "--symptom", str(log)))
    assert_nowhere(run(case, "--engine", f"git:https://u:{INDEX}@host.invalid/engine@main"))
    assert_nowhere(run(case, "--reference", f"git:https://u:{INDEX}@host.invalid/engine@main"))
