"""Settings that engines and benchmarks write into their own logs.

vLLM's start-up lines (``non-default args``, ``Initializing a V1 LLM engine``, the version banner),
SGLang's ``server_args=``, the ``Namespace(...)`` of ``vllm bench serve``, the cache config metric, and
what request texts show: thinking marks and the script that the text is written in.
"""

import re

from investigator.triage.reader import Piece
from investigator.triage.symptom import Setting

_VALUE = r"['\"]?(?P<{0}>[^\s'\",{{}}()\[\]]{{1,200}})"
_KEY = r"['\"]?{0}['\"]?\s?[=:]\s?"


def _pair(key: str) -> str:
    return _KEY.format(key) + _VALUE.format("value")


_ARGS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(rf"(?<![A-Za-z_]){_pair(key)}"))
    for name, key in (
        ("target", "(?:model|model_path)"),
        ("method", "speculative_algorithm"),
        ("draft", "(?:speculative_draft_model_path|speculative_model)"),
        ("draft-tokens", "num_spec_tokens"),
        ("draft-tokens", "num_speculative_tokens"),
        ("block-size", "speculative_num_draft_tokens"),
        ("block-size", "speculative_dflash_block_size"),
        ("prefix-caching", "enable_prefix_caching"),
        ("radix-cache-off", "disable_radix_cache"),
        ("kv-block-size", "block_size"),
        ("log-interval", "decode_log_interval"),
        ("dataset", "dataset_name"),
        ("dataset-path", "dataset_path"),
        ("temperature", "temperature"),
    )
)
_SPECULATIVE = re.compile(
    r"['\"]?speculative_config['\"]?\s?[=:]\s?(?:SpeculativeConfig\(|\{)(?P<body>[^{}()]{1,2000})"
)
_METHOD = re.compile(_pair("method"))
_MODEL = re.compile(rf"(?<![A-Za-z_]){_pair('model')}")
_VERSION = re.compile(
    r"(?:LLM engine \(v|vLLM (?:API )?server version |vLLM Version\s{0,40}:\s{0,4}|[█▀▄].{0,40}\bversion )"
    r"(?P<value>\d+\.\d+[\w.+!-]{0,40})"
)
_SERVING = re.compile(r"(?:serving model |[█▀▄].{0,40}\bmodel {1,6})(?P<value>\S{1,200})")
_RUNNER = re.compile(r"Using V(?P<value>[12]) Model Runner")
_THINKING = re.compile(r"enable_thinking\\?['\"]?\s?[:=]\s?\\?['\"]?(?P<value>true|false)", re.IGNORECASE)
_OTHER_SCRIPTS = re.compile(
    r"[\u0400-\u04ff\u0590-\u06ff\u0900-\u0dff\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
)
_ESCAPED_SCRIPTS = re.compile(
    r"\\u(?:0[4569a-d]|3[04-9a-f]|[4-9][0-9a-f]|a[c-f]|[b-c][0-9a-f]|d[0-7])[0-9a-f]{2}"
)
_LATIN = re.compile(r"[A-Za-z]")
MAX_SETTINGS = 400
ENOUGH_LETTERS = 200
"""Fewer letters of another script may be a name or a sign."""


class Startup:
    """Collects settings; later ones win, as they do on a command line."""

    def __init__(self) -> None:
        self.settings: list[Setting] = []
        self._letters = [0, 0]
        self._script_line = 0

    def feed(self, piece: Piece) -> bool:
        """Take one piece; True when something was read from it."""
        before = len(self.settings)
        text = piece.text
        if _lists_arguments(text):
            self._arguments(piece)
        if ("ersion" in text or "LLM engine (v" in text) and (match := _VERSION.search(text)):
            self._set(piece, "engine", "vllm")
            self._set(piece, "version", match["value"])
        if ("serving model" in text or "█" in text) and (match := _SERVING.search(text)):
            self._set(piece, "target", match["value"])
        if "Model Runner" in text and (match := _RUNNER.search(text)):
            self._set(piece, "runner", f"v{match['value']}")
        if "enable_thinking" in text and (match := _THINKING.search(text)):
            self._set(piece, "thinking", "on" if match["value"].lower() == "true" else "off")
        if "<think>" in text and not any(s.name == "think-text" for s in self.settings):
            self._set(piece, "think-text", "<think> in the text")
        if (not text.isascii() or "\\u" in text) and (
            "prompt" in text or "content" in text or "_text" in text
        ):
            self._script(piece)
        return len(self.settings) > before

    def finish(self) -> None:
        """Add what only the whole input shows."""
        other, latin = self._letters
        if other >= ENOUGH_LETTERS and other >= 0.2 * (other + latin):
            share = round(100 * other / (other + latin))
            self.settings.append(
                Setting(
                    name="language", value=f"{share} % of the letters are not Latin", line=self._script_line
                )
            )

    def _arguments(self, piece: Piece) -> None:
        text = piece.text
        if "server_args=" in text:
            self._set(piece, "engine", "sglang")
        inside = ""
        if match := _SPECULATIVE.search(text):
            inside = match["body"]
            for name, pattern in (("method", _METHOD), ("draft", _MODEL)):
                if found := pattern.search(inside):
                    self._set(piece, name, found["value"])
            for name, pattern in _ARGS:
                if name == "draft-tokens" and (found := pattern.search(inside)):
                    self._set(piece, name, found["value"])
            text = text[: match.start()] + text[match.end() :]
        for name, pattern in _ARGS:
            if name == "kv-block-size" and "server_args=" in text:
                continue
            if (found := pattern.search(text)) and found["value"] not in ("None", "null"):
                self._set(piece, name, found["value"])

    def _script(self, piece: Piece) -> None:
        other = len(_OTHER_SCRIPTS.findall(piece.text)) if not piece.text.isascii() else 0
        if "\\u" in piece.text:
            other += len(_ESCAPED_SCRIPTS.findall(piece.text))
        if other:
            self._script_line = self._script_line or piece.line
            self._letters[0] += other
            self._letters[1] += len(_LATIN.findall(piece.text))

    def _set(self, piece: Piece, name: str, value: str) -> None:
        known = next((s for s in reversed(self.settings) if s.name == name), None)
        if len(self.settings) < MAX_SETTINGS and (known is None or known.value != value):
            self.settings.append(Setting(name=name, value=value, line=piece.line))


def _lists_arguments(text: str) -> bool:
    """Whether this line is one that an engine or a benchmark prints its arguments on."""
    return (
        "non-default args" in text
        or "Initializing a V1" in text
        or "server_args=" in text
        or "Namespace(" in text
        or "cache_config_info" in text
        or ("LLM(" in text and "speculative_config" in text)
    )
