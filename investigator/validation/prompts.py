"""Prompts as token ids: pieces of the held-out source of this Python's standard library, or a file."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from investigator.errors import IncompleteError, UsageError
from investigator.validation import corpus
from investigator.validation.extras import require
from investigator.validation.pair import Pair

MAX_PROMPT_FILE = 64 << 20

Prompts = list[list[int]]


def make_prompts(pair: Pair, count: int, tokens: int) -> Prompts:
    """``count`` prompts of exactly ``tokens`` ids. Raises UsageError, IncompleteError."""
    return encode(pair, corpus.prompt_texts(count, tokens * 5), tokens)


def read_prompts(file: Path, pair: Pair) -> Prompts:
    """A JSON list of texts or of lists of token ids. Raises UsageError."""
    try:
        if file.stat().st_size > MAX_PROMPT_FILE:
            raise UsageError(f"{file} is larger than {MAX_PROMPT_FILE:,} bytes", "give fewer prompts")
        if not file.is_file():  # a device or a pipe has no end
            raise UsageError(f"{file} is not a regular file", "give a JSON list in a file")
        rows = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"cannot read prompts from {file}: {error}", "give a JSON list") from error
    if isinstance(rows, list) and rows and all(isinstance(row, str) and row for row in rows):
        return encode(pair, rows, None)
    ids = isinstance(rows, list) and rows and all(isinstance(row, list) and row for row in rows)
    if not ids or not all(type(token) is int and token >= 0 for row in rows for token in row):
        raise UsageError(f"{file} holds no prompts", "give a JSON list of texts, or of lists of token ids")
    return [list(row) for row in rows]


def encode(pair: Pair, texts: Sequence[str], tokens: int | None) -> Prompts:
    """Token ids of ``texts``, cut to ``tokens`` each."""
    require("validate", "tokenizers", what="making prompts")
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(_tokenizer_file(pair)))
    rows = [
        encoding.ids[:tokens] for encoding in tokenizer.encode_batch(list(texts), add_special_tokens=False)
    ]
    if tokens is not None and any(len(row) < tokens for row in rows):
        raise UsageError(f"some prompts are shorter than {tokens} tokens", "give fewer --prompt-tokens")
    return rows


def digest(prompts: Prompts) -> str:
    """SHA-256 of the prompts, so that two validations can tell whether they asked the same."""
    return hashlib.sha256(json.dumps(prompts, separators=(",", ":")).encode()).hexdigest()


def _tokenizer_file(pair: Pair) -> Path:
    if pair.local:
        file = Path(pair.target) / "tokenizer.json"
        if not file.is_file():
            raise UsageError(f"{pair.target} has no tokenizer.json", "give --prompts with token ids")
        return file
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    try:
        return Path(hf_hub_download(pair.target, "tokenizer.json"))
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        raise IncompleteError(
            f"the tokenizer of {pair.target} cannot be had: {type(error).__name__}",
            "give --prompts with a JSON list of lists of token ids",
        ) from error
