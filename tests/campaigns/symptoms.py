"""What deployments print, mixed and spoilt: read, judged and shown without a crash, soon."""

import random
import time
from collections import Counter

from tests.triage.test_robustness import PARTS, whole_way

PATIENCE = 2.0
"""Seconds that one small input may take."""


def campaign(count: int, chance: random.Random) -> Counter[str]:
    """``count`` inputs, each a mixture of what the formats are made of, some bytes of it others."""
    counts: Counter[str] = Counter()
    for _ in range(count):
        data = bytearray("".join(chance.choice(PARTS) for _ in range(chance.randint(1, 80))).encode())
        for _ in range(chance.choice([0, 0, 1, 5])):
            data[chance.randrange(len(data))] = chance.randrange(256)
        started = time.monotonic()
        try:
            whole_way(bytes(data))
        except Exception as error:
            counts[f"FIND: {type(error).__name__}"] += 1
            print(repr(error), bytes(data))
            continue
        counts["FIND: slow" if time.monotonic() - started > PATIENCE else "read"] += 1
    return counts
