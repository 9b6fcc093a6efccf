"""Foreign text made harmless for each format: what came from a config, a title or a log stays text."""

import html
import re
import unicodedata
from urllib.parse import quote, urlsplit

_HIDDEN = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})
"""Unicode categories that steer a terminal or a reader's eye instead of showing a sign."""

_MARKDOWN = re.compile(r"([\\`*<|~$]|(?<!\w)_|_(?!\w)|\[(?=\^)|\](?=\()|&(?=[#\w]))")
"""What means something within a line: only where it does, so that the text stays readable as it is."""
_BLOCK_START = re.compile(r"^(\d{1,9}(?=[.)](?:\s|$)))?([-+=#>\[]|(?<=\d)[.)])")
"""What means something at a line's beginning."""
_MENTION = re.compile(r"@(?=\w)|#(?=\d)")
_LINK_START = re.compile(r":(?=//)|(?<=www)\.", re.IGNORECASE)
_URL_SAFE = "/:?#[]@!$&'*+,;=%~-._"


def visible(text: str, *, lines: bool = False) -> str:
    """Control, bidirectional and invisible characters by their number, ``‹U+202E›``.

    Line ends and tabs become spaces, unless ``lines`` asks to keep them.
    """
    kept = "\n\t" if lines else ""

    def shown(char: str) -> str:
        if char in kept:
            return char
        if char in "\n\t\r":
            return " "
        return f"‹U+{ord(char):04X}›" if unicodedata.category(char) in _HIDDEN else char

    return text if text.isascii() and text.isprintable() else "".join(map(shown, text))


def shortened(text: str, limit: int) -> str:
    """The text, or its beginning and a sign that it goes on; at most ``limit`` characters."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def markdown(text: str) -> str:
    """Prose inside a line or a table cell: no markup, no mention, no link comes out of it."""
    escaped = _MARKDOWN.sub(r"\\\1", visible(text).strip())
    escaped = _BLOCK_START.sub(r"\1\\\2", escaped)
    escaped = _LINK_START.sub(lambda found: "\\" + found[0], escaped)
    return _MENTION.sub(lambda found: found[0] + "\u200b", escaped)


def markdown_code(text: str) -> str:
    """A code span, safe in a table cell too; the fence is longer than any run of backticks inside.

    With a pipe inside it becomes escaped prose: a cell ends at a pipe even within a code span,
    and what a backslash before it does there depends on what stands before the backslash.
    """
    inner = visible(text)
    if "|" in inner:
        return markdown(inner)
    if not inner.strip():
        return "` `"
    fence = "`" * (_longest_run(inner) + 1)
    pad = " " if inner[0] in "` " or inner[-1] in "` " else ""
    return f"{fence}{pad}{inner}{pad}{fence}"


def markdown_fence(text: str, language: str = "") -> str:
    """A fenced block whose fence is longer than any inside."""
    inner = visible(text, lines=True)
    fence = "`" * max(3, _longest_run(inner) + 1)
    return f"{fence}{language}\n{inner}\n{fence}"


def markdown_link(label: str, url: str | None) -> str:
    """A link whose label is a code span; the bare span when there is no usable address."""
    safe = safe_url(url)
    return markdown_code(label) if safe is None else f"[{markdown_code(label)}]({safe})"


def markdown_file(label: str, path: str) -> str:
    """A link to a file beside the report; ``path`` is percent-encoded already."""
    return f"[{markdown_code(label)}]({path})" if "|" not in label else markdown_code(label)


def html_in_markdown(text: str) -> str:
    """Text inside an HTML element of a Markdown page, where Markdown's own marks mean nothing."""
    escaped = html.escape(visible(text))
    return _MENTION.sub(lambda found: found[0] + "\u200b", escaped)


def html_comment(text: str) -> str:
    """Text inside an HTML comment, which nothing in it can end."""
    return visible(text).replace("--", "- -").replace(">", "›")


def safe_url(url: str | None) -> str | None:
    """The address with everything strange percent-encoded; None unless it is http or https."""
    if url is None:
        return None
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not parts.netloc:
        return None
    return quote(url.encode("utf-8", "replace"), safe=_URL_SAFE)


def workflow_data(text: str) -> str:
    """The message of a GitHub workflow command."""
    return visible(text, lines=True).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def workflow_property(text: str) -> str:
    """A property (file, title) of a GitHub workflow command."""
    return workflow_data(visible(text)).replace(":", "%3A").replace(",", "%2C")


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)
