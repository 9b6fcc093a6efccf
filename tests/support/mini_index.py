"""A package index on loopback: the simple API in JSON or HTML, files with HTTP ranges."""

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from html import escape

from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from tests.support.wheels import build_wheel, wheel_name

JSON = "application/vnd.pypi.simple.v1+json"


@dataclass
class Listed:
    """One file on a project's page."""

    project: str
    filename: str
    data: bytes
    yanked: str | None = None
    sha256: str | None = None
    uploaded: str | None = None


class MiniIndex:
    """``requests`` lists the paths asked so far, in order."""

    def __init__(self, server: HTTPServer) -> None:
        self.server = server
        self.files: list[Listed] = []
        self.html = False
        self.sizes = True
        self.serve: Callable[[Request, bytes], Response] = serve_range
        """How files are served; tests put misbehaving ones here."""
        self.first: list[Response] = []
        """Answers to give first, one each, whatever is asked."""
        server.expect_request(re.compile("/.*")).respond_with_handler(self.answer)

    @property
    def url(self) -> str:
        return self.server.url_for("/simple/")

    @property
    def requests(self) -> list[str]:
        return [request.path for request, _ in self.server.log]

    def add(
        self,
        name: str = "vllm",
        version: str = "0.20.1",
        data: bytes | None = None,
        *,
        build: str = "",
        platform: str = "any",
        yanked: str | None = None,
        sha256: str | None = None,
        uploaded: str | None = None,
    ) -> bytes:
        """List a wheel, a miniature unless ``data`` is given; returns its bytes."""
        data = build_wheel(name, version) if data is None else data
        filename = wheel_name(name, version, build, platform)
        sha256 = sha256 or hashlib.sha256(data).hexdigest()
        self.files.append(Listed(name, filename, data, yanked, sha256, uploaded))
        return data

    def answer(self, request: Request) -> Response:
        if self.first:
            return self.first.pop(0)
        if request.path.startswith("/simple/"):
            return self._page(request.path.split("/")[2])
        for file in self.files:
            if request.path == f"/files/{file.filename}":
                return self.serve(request, file.data)
        return Response("no such file", 404)

    def _page(self, project: str) -> Response:
        files = [file for file in self.files if file.project == project]
        if not files:
            return Response("no such project", 404)
        if self.html:
            links = "".join(
                f'<a href="/files/{f.filename}#sha256={f.sha256}"'
                + (f' data-yanked="{escape(f.yanked)}"' if f.yanked is not None else "")
                + f">{f.filename}</a>\n"
                for f in files
            )
            return Response(f"<!DOCTYPE html><html><body>{links}</body></html>", mimetype="text/html")
        rows = [
            {
                "filename": f.filename,
                "url": f"/files/{f.filename}",
                "hashes": {"sha256": f.sha256},
                "yanked": f.yanked if f.yanked is not None else False,
                **({"size": len(f.data)} if self.sizes else {}),
                **({"upload-time": f.uploaded} if f.uploaded else {}),
            }
            for f in files
        ]
        page = {"meta": {"api-version": "1.1"}, "name": project, "versions": [], "files": rows}
        return Response(json.dumps(page), content_type=JSON)


def serve_range(request: Request, data: bytes) -> Response:
    """What a good server does with a range; the whole file without one."""
    asked = re.fullmatch(r"bytes=(\d*)-(\d*)", request.headers.get("Range", ""))
    if asked is None:
        return Response(data)
    first, last = asked[1], asked[2]
    if first:
        start, end = int(first), min(int(last or len(data) - 1), len(data) - 1)
    else:
        start, end = max(0, len(data) - int(last)), len(data) - 1
    if start > end:
        return Response(b"", 416, {"Content-Range": f"bytes */{len(data)}"})
    headers = {"Content-Range": f"bytes {start}-{end}/{len(data)}"}
    return Response(data[start : end + 1], 206, headers, content_type="application/octet-stream")


def serve_whole(request: Request, data: bytes) -> Response:
    """A server that knows no ranges."""
    return Response(data)


def serve_no_suffix(request: Request, data: bytes) -> Response:
    """A server that knows ranges, but none counted from the end."""
    if request.headers.get("Range", "").startswith("bytes=-"):
        return Response(b"", 416)
    return serve_range(request, data)


def serve_wrong_total(request: Request, data: bytes) -> Response:
    """A server that lies about the file's size."""
    answer = serve_range(request, data)
    answer.headers["Content-Range"] = re.sub(r"/\d+", "/123456", answer.headers["Content-Range"])
    return answer


def serve_shifted(request: Request, data: bytes) -> Response:
    """A server that sends the right number of bytes from the wrong place."""
    asked = re.fullmatch(r"bytes=(\d+)-(\d+)", request.headers.get("Range", ""))
    assert asked is not None
    start, end = int(asked[1]), int(asked[2])
    body = data[: end + 1 - start]
    return Response(body, 206, {"Content-Range": f"bytes 0-{len(body) - 1}/{len(data)}"})
