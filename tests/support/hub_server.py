"""A small Hub on loopback, for the tests of the real client."""

import hashlib
import json
import re
from typing import Any

from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

COMMIT = "0123456789abcdef0123456789abcdef01234567"
REPO = "some/drafter"

CONFIG = json.dumps(
    {
        "architectures": ["DFlashDraftModel"],
        "model_type": "qwen3",
        "block_size": 8,
        "dflash_config": {"mask_token_id": 9, "target_layer_ids": [1, 4]},
        "num_hidden_layers": 2,
        "num_target_layers": 8,
    },
    indent=2,
).encode()


class MiniHub:
    """One repository. ``requests`` lists what was asked, in order: ``GET /api/models/...``."""

    def __init__(self, server: HTTPServer, files: dict[str, bytes] | None = None) -> None:
        self.server = server
        self.files = {"config.json": CONFIG} if files is None else files
        self.info: dict[str, Any] = {"id": REPO, "sha": COMMIT, "gated": False}
        self.before: dict[str, list[Response]] = {}
        """``GET /path`` -> answers to give first, one each time, before the right one."""
        self.always: dict[str, Response] = {}
        self.ranges = True
        server.expect_request(re.compile("/.*")).respond_with_handler(self.answer)

    @property
    def url(self) -> str:
        return self.server.url_for("").rstrip("/")

    @property
    def requests(self) -> list[str]:
        return [f"{request.method} {request.path}" for request, _ in self.server.log]

    def sent_tokens(self) -> list[str | None]:
        return [request.headers.get("Authorization") for request, _ in self.server.log]

    def answer(self, request: Request) -> Response:
        key = f"{request.method} {request.path}"
        if self.before.get(key):
            return self.before[key].pop(0)
        if key in self.always:
            return self.always[key]
        if request.path.startswith("/api/models/"):
            siblings = [{"rfilename": name, "size": len(data)} for name, data in self.files.items()]
            return Response(json.dumps({"siblings": siblings, **self.info}), mimetype="application/json")
        _, _, name = request.path.partition(f"/resolve/{COMMIT}/")
        if name not in self.files:
            return error(404, "EntryNotFound", commit=True)
        return self.file(request, self.files[name])

    def file(self, request: Request, data: bytes) -> Response:
        headers = {"X-Repo-Commit": COMMIT, "ETag": f'"{blob_id(data)}"'}
        asked = request.headers.get("Range", "")
        if asked and self.ranges:
            first, _, last = asked.removeprefix("bytes=").partition("-")
            start, end = int(first), min(int(last or len(data) - 1), len(data) - 1)
            headers["Content-Range"] = f"bytes {start}-{end}/{len(data)}"
            return Response(data[start : end + 1], 206, headers)
        return Response(data, 200, headers)


def error(status: int, code: str | None = None, *, commit: bool = False, **headers: str) -> Response:
    """A Hub's refusal: the status, and its name in ``X-Error-Code``."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    if code is not None:
        named["X-Error-Code"] = code
    if commit:
        named["X-Repo-Commit"] = COMMIT
    return Response(b'{"error": "no"}', status, named, mimetype="application/json")


def blob_id(data: bytes) -> str:
    """Git's name for a file's content; the Hub's ETag of a file that is not in LFS."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
