"""Configs: bytes against Python's own JSON reader, and values of every kind under every key.

What is read must be what ``json`` reads, and strings that can be written; whatever a config says,
it becomes a checkpoint or an error with advice.
"""

import copy
import json
import random
from collections import Counter
from typing import Any

from investigator.checkpoints import key_lines, model_config, read_checkpoint, read_json
from investigator.errors import InvestigateError
from investigator.sources.snapshots import Snapshots

REPOS = (
    "z-lab/Qwen3.6-27B-DFlash",
    "z-lab/Qwen3.6-35B-A3B-DFlash",
    "z-lab/Qwen3.8-27B-DFlash2",
    "XiaomiMiMo/MiMo-V2.5-Pro-FP4-DFlash",
    "RedHatAI/Qwen3-8B-speculator.dflash",
)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 64, 1023, 1024, 10**12, 10**17, 0.5, -0.0, 1e300, "", "x", "10000"),
    *("full_attention", "sliding_attention", "\u202e](x)", "`|<b>", "\ud83d", "a\nb", "\x1b[0m", "\0"),
    *([], [1], [1, 2, 3], [0], [-1], [None], [[]], [True], ["x"], [10**17], [1] * 300),
    *(["sliding_attention"] * 5, ["full_attention"] * 5, {}, {"a": 1}, {"": {}}, {"rope_type": None}),
    *({"rope_type": "yarn", "factor": 0}, {"num_hidden_layers": 2}, ["Eagle3LlamaForCausalLM"], ["auto_map"]),
)
PIECES = (
    *(
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b'"',
        b"\\",
        b"\\ud83d",
        b"\\u0000",
        b"NaN",
        b"-Infinity",
        b"1e999",
    ),
    *(b"123456789012345678901", b"-", b"0", b".5", b"\xff", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\0", b"null"),
    *(b"true", b'"a":1,"a":2', b"[" * 70, b"/*x*/", b"'", b"\n", b"\xe2\x80\xa8", b"\\x", b"1_000", b"0x1"),
)


def campaign(count: int, chance: random.Random) -> Counter[str]:
    """``count`` configs, half of them with other bytes, half with other values."""
    counts: Counter[str] = Counter()
    known = [snapshot for repo in REPOS if (snapshot := Snapshots().hub(repo)) is not None]
    assert len(known) == len(REPOS)
    for number in range(count):
        config = copy.deepcopy(dict(chance.choice(known).config))
        if number % 2:
            for _ in range(chance.randint(1, 4)):
                _other_value(config, chance)
            counts[taken(config)] += 1
        else:
            counts[compared(_other_bytes(json.dumps(config).encode(), chance))] += 1
    return counts


def compared(data: bytes) -> str:
    """What became of these bytes; begins with FIND when two readers would disagree."""
    try:
        ours = read_json(data, "config.json")
    except InvestigateError as error:
        return "bytes refused" if error.advice else "FIND: no advice"
    try:
        theirs = json.loads(data)
    except ValueError as error:
        return f"FIND: read what json refuses ({type(error).__name__})"
    if json.dumps(ours) != json.dumps(theirs):
        return "FIND: read otherwise than json"
    json.dumps(ours, ensure_ascii=False, allow_nan=False).encode()
    key_lines(data.decode("utf-8-sig"))
    return "bytes read alike"


def taken(config: dict[str, Any]) -> str:
    """What became of these values."""
    try:
        draft = model_config(config, repo="some/drafter", revision="r", source="draft")
        read_checkpoint(draft, model_config(config, repo="some/target", revision="r", source="target"))
    except InvestigateError as error:
        return "values refused" if error.advice else "FIND: no advice"
    except Exception as error:
        return f"FIND: {type(error).__name__} for {json.dumps(config)}"
    return "values taken"


def _other_value(config: dict[str, Any], chance: random.Random) -> None:
    holder = config
    while inner := [value for value in holder.values() if isinstance(value, dict) and value]:
        if chance.random() < 0.5:
            break
        holder = chance.choice(inner)
    key = chance.choice(list(holder))
    if chance.random() < 0.2:
        del holder[key]
    else:
        holder[key] = copy.deepcopy(chance.choice(VALUES))


def _other_bytes(data: bytes, chance: random.Random) -> bytes:
    for _ in range(chance.randint(0, 3)):
        at = chance.randrange(len(data) + 1)
        match chance.randrange(4):
            case 0:
                data = data[:at] + chance.choice(PIECES) + data[at:]
            case 1:
                data = data[:at] + data[at + chance.randint(1, 8) :]
            case 2:
                data = data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :]
            case _:
                other = chance.randrange(len(data) + 1)
                data = data[:at] + data[other : other + chance.randint(1, 40)] + data[at:]
    return data
