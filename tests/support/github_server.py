"""A small GitHub on loopback, for the tests of the real client."""

import json
import re
from collections.abc import Sequence
from typing import Any

from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

REPO = "some/engine"
HEAD = "a" * 40
BASE = "b" * 40
MERGE_BASE = "c" * 40

DIFF = b"""\
diff --git a/vllm/worker.py b/vllm/worker.py
index 1111111..2222222 100644
--- a/vllm/worker.py
+++ b/vllm/worker.py
@@ -1,3 +1,3 @@
 def taps(ids):
-    return list(ids)
+    return [i + 1 for i in ids]

"""


class MiniGitHub:
    """One pull request, number 7, under ``/api/v3`` as on an enterprise server."""

    def __init__(self, server: HTTPServer) -> None:
        self.server = server
        self.pull: dict[str, Any] = {
            "number": 7,
            "title": "Shift the ids",
            "state": "open",
            "merged": False,
            "merged_at": None,
            "head": {"sha": HEAD, "repo": None},
            "base": {"sha": BASE, "ref": "main"},
            "changed_files": 1,
            "additions": 1,
            "deletions": 1,
        }
        self.diff: Response | None = None
        self.rows: list[dict[str, Any]] = []
        self.hide_from: int | None = None
        """Rows from this index of one answer lose their hunks and counts, as GitHub's do."""
        self.versions: dict[tuple[str, str], bytes] = {}
        """(path, commit) -> content."""
        self.etag = 'W/"1"'
        self.before: list[Response] = []
        """Answers to give first, one each time, before the right ones."""
        server.expect_request(re.compile("/.*")).respond_with_handler(self.answer)

    @property
    def url(self) -> str:
        return self.server.url_for("/api/v3")

    @property
    def requests(self) -> list[str]:
        """What was asked, in order, below the API's address, queries sorted; diffs are marked."""
        return [
            request.path.removeprefix(f"/api/v3/repos/{REPO}")
            + (
                "?" + "&".join(sorted(request.query_string.decode().split("&")))
                if request.query_string
                else ""
            )
            + (" (diff)" if "diff" in request.headers.get("Accept", "") else "")
            for request, _ in self.server.log
        ]

    def sent_tokens(self) -> set[str | None]:
        return {request.headers.get("Authorization") for request, _ in self.server.log}

    def answer(self, request: Request) -> Response:
        if self.before:
            return self.before.pop(0)
        path = re.sub(rf"^/api/v3/(repos/{REPO}|repositories/1)", "", request.path)
        accept = request.headers.get("Accept", "")
        if path == "/pulls/7" and "diff" in accept:
            return self.diff or Response(DIFF, mimetype="application/vnd.github.diff")
        if path == "/pulls/7":
            if request.headers.get("If-None-Match") == self.etag:
                return Response(status=304)
            return Response(json.dumps(self.pull), headers={"ETag": self.etag}, mimetype="application/json")
        if path == "/pulls/7/files":
            return self.page(request)
        if path.startswith("/compare/"):
            return reply({"merge_base_commit": {"sha": MERGE_BASE}})
        content = self.versions.get((path.removeprefix("/contents/"), request.args.get("ref", "")))
        return refusal(404, "Not Found") if content is None else Response(content)

    def page(self, request: Request) -> Response:
        size, number = int(request.args["per_page"]), int(request.args["page"])
        rows = [dict(row) for row in self.rows[(number - 1) * size : number * size]]
        for row in rows[self.hide_from :] if self.hide_from is not None else ():
            row |= {"additions": 0, "deletions": 0}
            row.pop("patch", None)
        response = reply(rows)
        if number * size < len(self.rows):
            there = self.server.url_for(f"/api/v3/repositories/1/pulls/7/files?page={number + 1}")
            response.headers["Link"] = f'<{there}>; rel="next"'
        return response


def reply(value: Any, status: int = 200, **headers: str) -> Response:
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return Response(json.dumps(value), status, named, mimetype="application/json")


def refusal(status: int, message: str, **headers: str) -> Response:
    """An error as GitHub words it."""
    return reply({"message": message, "status": str(status)}, status, **headers)


def row(path: str, hunk: str | None, status: str = "modified", **more: Any) -> dict[str, Any]:
    """A row of the file list, with counts taken from its hunk."""
    lines = (hunk or "").split("\n")
    counts = {"additions": _count(lines, "+"), "deletions": _count(lines, "-")}
    shown = {} if hunk is None else {"patch": hunk}
    return {"filename": path, "status": status, **counts, **shown, **more}


def _count(lines: Sequence[str], mark: str) -> int:
    return sum(line.startswith(mark) for line in lines)
