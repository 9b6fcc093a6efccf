"""Small git repositories of our own, and a loopback server that serves them as git hosts do."""

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@example.invalid",
    "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z",
    "GIT_COMMITTER_NAME": "A",
    "GIT_COMMITTER_EMAIL": "a@example.invalid",
    "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
}


def git(folder: Path, *arguments: str, stdin: str = "") -> str:
    """Standard output of a git command in a folder."""
    done = subprocess.run(
        ["git", *arguments],
        cwd=folder,
        env=ENVIRONMENT,
        check=True,
        capture_output=True,
        text=True,
        input=stdin,
    )
    return done.stdout.strip()


def commit(folder: Path, files: Mapping[str, bytes], message: str = "work") -> str:
    """Write files and commit them, into a new repository where there is none; the commit's id."""
    if not (folder / ".git").exists():
        folder.mkdir(parents=True, exist_ok=True)
        git(folder, "init", "--quiet", "--initial-branch=main")
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", message)
    return git(folder, "rev-parse", "HEAD")


class GitServer:
    """Serves every repository below a folder over smart HTTP."""

    def __init__(self, server: HTTPServer, root: Path) -> None:
        self.server = server
        self.root = root
        self.root.mkdir(exist_ok=True)
        server.expect_request(re.compile("/.*")).respond_with_handler(self.answer)

    def url(self, name: str) -> str:
        return self.server.url_for(f"/{name}")

    def publish(self, source: Path, name: str) -> str:
        """Serve a bare copy of a repository; its address."""
        target = self.root / name
        git(source, "clone", "--quiet", "--bare", str(source), str(target))
        for key in ("allowFilter", "allowAnySHA1InWant", "allowReachableSHA1InWant"):
            git(target, "config", f"uploadpack.{key}", "true")
        return self.url(name)

    def answer(self, request: Request) -> Response:
        environment = {
            **ENVIRONMENT,
            "GIT_PROJECT_ROOT": str(self.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": request.path,
            "QUERY_STRING": request.query_string.decode(),
            "REQUEST_METHOD": request.method,
            "CONTENT_TYPE": request.content_type or "",
            "REMOTE_ADDR": "127.0.0.1",
            "GIT_PROTOCOL": request.headers.get("Git-Protocol", ""),
            "HTTP_CONTENT_ENCODING": request.headers.get("Content-Encoding", ""),
        }
        done = subprocess.run(
            ["git", "http-backend"], input=request.get_data(), env=environment, capture_output=True
        )
        head, _, body = done.stdout.partition(b"\r\n\r\n")
        headers = [tuple(line.split(": ", 1)) for line in head.decode().split("\r\n") if ": " in line]
        status = next((int(value.split()[0]) for name, value in headers if name == "Status"), 200)
        return Response(body, status, [(name, value) for name, value in headers if name != "Status"])
