"""``python -m tests.campaigns NAME [COUNT [SEED]]``: run one campaign and print its counts."""

import importlib
import logging
import random
import resource
import sys
import time

DEFAULTS = {
    "zips": 20_000,
    "diffs": 5_000,
    "configs": 20_000,
    "faults": 120,
    "kills": 100,
    "load": 50,
    "symptoms": 10_000,
}
"""The campaigns, and how many inputs one tries when nothing else is said."""


def main(name: str, count: int, seed: int) -> int:
    """Run the campaign; 1 when it found something."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    started = time.monotonic()
    counts = importlib.import_module(f"tests.campaigns.{name}").campaign(count, random.Random(seed))
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(name, count, f"seed {seed}", f"{time.monotonic() - started:.0f} s", f"{megabytes} MB", dict(counts))
    return int(any(key.startswith("FIND") and value for key, value in counts.items()))


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in DEFAULTS:
        sys.exit(f"{__doc__}\nNAME is one of: {', '.join(DEFAULTS)}")
    chosen = sys.argv[1]
    number = int(sys.argv[2]) if len(sys.argv) > 2 else DEFAULTS[chosen]
    sys.exit(main(chosen, number, int(sys.argv[3]) if len(sys.argv) > 3 else number))
