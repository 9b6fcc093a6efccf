"""Command lines that start an engine or a benchmark: ``vllm serve``, ``sglang.launch_server`` and kin.

Taken as people paste them: a prompt sign in front, environment assignments, backslash
continuations, JSON in quotes over several lines, ``docker run -e``, dotted flags. The text is
split as a shell would split it and never run; only engine variables are kept.
"""

import json
import re
import shlex
from collections.abc import Iterator

from investigator.case import names_a_secret
from investigator.triage.reader import Piece
from investigator.triage.symptom import Setting

ENGINE = re.compile(
    r"\bvllm\s+(?:serve|bench)\b|vllm\.entrypoints\.\S{0,80}api_server|vllm/vllm-openai"
    r"|sglang\.launch_server|\bsglang\s+serve\b|lmsysorg/sglang|sglang\.bench_serving"
)
_BEFORE = re.compile(
    r"(?:(?:sudo|nohup|exec|time|env|export|CMD|command:|uvx?|run|nice|-\S{1,40}|\S{0,200}python[\d.]{0,5}"
    r"|[A-Za-z_]\w{0,60}=\S{0,200})\s+|[A-Za-z_]\w{0,60}=['\"]?)*\Z"
)
"""What may stand before the engine's name on its line; prose may not."""
_CONTAINER = re.compile(r"(?:sudo\s+)?(?:docker|podman|nerdctl)\s+run\b")
_LOGGED = re.compile(r"\[[\w./-]+\.py:\d+\]|^\S*\[?\d{4}-\d\d-\d\d[ T]")
_ENVIRONMENT = re.compile(
    r"^(?:export\s+)?(?P<name>(?:VLLM|SGLANG)_[A-Z0-9_]{1,60})=(?P<value>[^\s;'\"&|]{0,100})"
)
_INSTALLED = re.compile(r"\b(?P<name>vllm|sglang)(?:\[[\w,-]{1,60}\])?==(?P<version>\d+[\w.!+-]{0,40})")
_IMAGE = re.compile(r"(?:vllm/vllm-openai|lmsysorg/sglang):v?(?P<version>\d+\.\d+[\w.]{0,20}?)(?=-|\s|$)")
_QUOTES = re.compile(r"\\\\.|['\"]", re.DOTALL)
_LOOSE = re.compile(
    r"\b(?P<key>method|model|revision|num_speculative_tokens)\\{0,2}[\"']?\s{0,4}:\s{0,4}\\{0,2}[\"']?(?P<value>[\w./@-]{1,200})"
)
_CONTINUED = ("\\", " `", " ^")
"""What makes a command go on in the next line: of a POSIX shell, of PowerShell, of cmd.exe."""
MAX_COMMAND = 64 * 1024
MAX_LINES = 200
MAX_COMMANDS = 100

_FLAGS = {
    "--model": "target",
    "--model-path": "target",
    "--spec-model": "draft",
    "--speculative-draft-model-path": "draft",
    "--speculative-draft-model": "draft",
    "--speculative-draft-model-revision": "draft-revision",
    "--spec-method": "method",
    "--speculative-algorithm": "method",
    "--speculative-algo": "method",
    "--spec-tokens": "draft-tokens",
    "--speculative-num-draft-tokens": "block-size",
    "--speculative-dflash-block-size": "block-size",
    "--speculative-dflash-draft-window-size": "draft-window",
    "--block-size": "kv-block-size",
    "--page-size": "kv-block-size",
    "--revision": "target-revision",
    "--reasoning-parser": "reasoning-parser",
    "--decode-log-interval": "log-interval",
    "--dataset-name": "dataset",
    "--dataset-path": "dataset-path",
    "--random-input-len": "random-input-tokens",
    "--temperature": "temperature",
    "--max-model-len": "max-model-len",
}
_SWITCHES = {
    "--enable-prefix-caching": ("prefix-caching", "True"),
    "--no-enable-prefix-caching": ("prefix-caching", "False"),
    "--disable-radix-cache": ("prefix-caching", "False"),
}
_FOLLOWED = frozenset(
    {
        "--attention-backend",
        "--attention-config.backend",
        "--disable-overlap-schedule",
        "--disable-radix-cache",
        "--enable-prefix-caching",
        "--no-enable-prefix-caching",
        "--prefill-attention-backend",
        "--speculative-draft-attention-backend",
    }
)
"""Server flags by which an engine chooses its path: kept as they were given."""
_SPECULATIVE = {
    "method": "method",
    "model": "draft",
    "revision": "draft-revision",
    "num_speculative_tokens": "draft-tokens",
}


class Commands:
    """Collects commands over as many lines as they take."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.settings: list[Setting] = []
        self._held: list[str] = []
        self._size = self._line = self._commands = 0
        self._quote: str | None = None

    @property
    def open(self) -> bool:
        """Whether a command has begun and goes on in the next line."""
        return bool(self._held)

    def feed(self, piece: Piece) -> bool:
        """Take one piece; True when it belongs to a command or sets an engine variable."""
        text = piece.text.strip().lstrip("$>#").strip()
        if self._held:
            self._take(piece, text)
            return True
        if not _mentions_engine(text) or _LOGGED.search(text[:200]):
            return False
        if self._commands < MAX_COMMANDS and _starts(text[:4000]):
            self._line, self._size, self._quote = piece.line, 0, None
            self._commands += 1
            self._take(piece, text)
            return True
        if "_" in text[:80] and (match := _ENVIRONMENT.match(text)):
            self.environment(match["name"], match["value"], piece.line)
            return True
        if "==" in text[:400] and (match := _INSTALLED.search(text[:400])):
            self._set("engine", match["name"], piece.line)
            self._set("version", match["version"], piece.line)
            return True
        return False

    def finish(self) -> None:
        """Read a command that the input's end cut off."""
        if self._held:
            self._close()

    def run(self, words: list[str], whole: str, line: int) -> None:
        """Take the words of a command that stood in a file; ``whole`` names the engine, or its image."""
        self._line = line
        self._read(words, whole)

    def environment(self, name: str, value: str, line: int) -> None:
        """Keep an engine's variable, unless it holds a secret."""
        if not names_a_secret(name):
            self._set(f"env:{name}", value, line)

    def _take(self, piece: Piece, text: str) -> None:
        self._quote = _open_quote(text, self._quote)
        goes_on = text.endswith(_CONTINUED)
        self._held.append(text[:-1] if goes_on else text)
        self._size += len(text)
        if self._size > MAX_COMMAND or len(self._held) > MAX_LINES:
            self.notes.append(
                f"line {self._line}: a command that does not end; read as far as line {piece.line}"
            )
            self._close()
        elif not goes_on and self._quote is None:
            self._close()

    def _close(self) -> None:
        whole, self._held = "\n".join(self._held)[:MAX_COMMAND], []
        if not ENGINE.search(whole):
            return
        try:
            words = shlex.split(whole, comments=False)
        except ValueError:
            words = whole.replace("'", " ").replace('"', " ").split()
            self.notes.append(f"line {self._line}: a command with an open quote; read word by word")
        self._read(words, whole)

    def _read(self, words: list[str], whole: str) -> None:
        words = [part for word in words for part in _inner(word)]
        self._engine(whole)
        self._words(words)
        if "--speculative-config" in whole and not any(s.name == "method" for s in self.settings):
            self._loose(whole)

    def _engine(self, whole: str) -> None:
        sglang = "sglang" in whole and "vllm" not in whole
        self._set("engine", "sglang" if sglang else "vllm", self._line)
        if match := _IMAGE.search(whole):
            self._set("version", match["version"], self._line)

    def _words(self, words: list[str]) -> None:
        for word in words:
            if match := _ENVIRONMENT.match(word):
                self.environment(match["name"], match["value"], self._line)
        for previous, word in zip(words, [*words[1:], ""], strict=False):
            if previous == "serve" and word and not word.startswith("-") and "=" not in word:
                self._set("target", word, self._line)
        for flag, value in _flags(words):
            self._flag(flag, value)

    def _flag(self, flag: str, value: str) -> None:
        if flag in ("--speculative-config", "-sc"):
            self._speculative(value)
        elif flag in ("--attention-config", "-ac"):
            self._attention(value)
        elif flag.startswith(("--speculative-config.", "-sc.")):
            key = flag.partition(".")[2].replace("-", "_")
            if key in _SPECULATIVE:
                self._set(_SPECULATIVE[key], value, self._line)
        if flag in _FOLLOWED:
            self._set(f"flag:{flag}", value, self._line)
        if flag in _SWITCHES:
            self._set(*_SWITCHES[flag], self._line)
        elif flag in _FLAGS and value:
            self._set(_FLAGS[flag], value, self._line)

    def _speculative(self, value: str) -> None:
        try:
            config = json.loads(value)
        except (ValueError, RecursionError):
            config = None
        if not isinstance(config, dict):
            self._loose(value)
            return
        for key, name in _SPECULATIVE.items():
            given = config.get(key)
            if isinstance(given, str | int) and not isinstance(given, bool):
                self._set(name, str(given)[:200], self._line)

    def _attention(self, value: str) -> None:
        """The one key of this JSON by which the engine chooses a path."""
        try:
            config = json.loads(value)
        except (ValueError, RecursionError):
            return
        backend = config.get("backend") if isinstance(config, dict) else None
        if isinstance(backend, str):
            self._set("flag:--attention-config.backend", backend, self._line)

    def _loose(self, text: str) -> None:
        """JSON whose quotes a shell or a paste has eaten: names and values all the same."""
        found = list(_LOOSE.finditer(text))
        for match in found:
            self._set(_SPECULATIVE[match["key"]], match["value"], self._line)
        how = "read by its names" if found else "left out"
        self.notes.append(f"line {self._line}: --speculative-config is not a JSON object; {how}")

    def _set(self, name: str, value: str, line: int) -> None:
        if len(self.settings) < 400:
            self.settings.append(Setting(name=name, value=value[:200], line=line))


def _inner(word: str) -> list[str]:
    """A word that is itself a command (``sh -c '…'``) as its own words."""
    if not ENGINE.search(word):
        return [word]
    try:
        return shlex.split(word) if "'" in word else word.split()
    except ValueError:
        return word.split()


def _mentions_engine(text: str) -> bool:
    """A cheap look before the careful ones: most lines of a log are none of a command's."""
    return "vllm" in text or "sglang" in text or "VLLM_" in text or "SGLANG_" in text or " run" in text


def _starts(text: str) -> bool:
    """Whether a command starts here, rather than prose that mentions one."""
    if _CONTAINER.match(text):
        return True
    match = ENGINE.search(text)
    return match is not None and _BEFORE.match(text[: match.start()]) is not None


def _open_quote(text: str, quote: str | None) -> str | None:
    """The quote that is still open behind ``text``, as a shell sees it."""
    for match in _QUOTES.finditer(text):
        mark = match[0][-1]
        if quote == "'":
            quote = None if mark == "'" else quote
        elif len(match[0]) == 1:
            quote = mark if quote is None else None if mark == quote else quote
    return quote


def _flags(words: list[str]) -> Iterator[tuple[str, str]]:
    """Each flag with its value: ``--flag value``, ``--flag=value``, or a bare switch."""
    for index, word in enumerate(words):
        if word.startswith("-"):
            flag, equals, value = word.partition("=")
            following = words[index + 1] if index + 1 < len(words) else ""
            if not equals:
                value = "" if following.startswith("--") else following
            yield (flag.replace("_", "-") if flag.startswith("--") else flag), value
