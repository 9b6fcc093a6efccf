"""``python -m tests.campaigns NAME [COUNT [SEED]]``: run one campaign and print its counts.

``load COUNT --engine vllm==0.20.1 --engine sglang==0.5.20`` takes real releases from the package index
instead of miniatures.
"""

import argparse
import importlib
import logging
import random
import resource
import sys
import time
from collections.abc import Sequence

from tests.campaigns import load_releases

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


def main(name: str, count: int, seed: int, engines: Sequence[str] = ()) -> int:
    """Run the campaign; 1 when it found something."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    started = time.monotonic()
    if engines:
        counts = load_releases.campaign(count, engines)
    else:
        counts = importlib.import_module(f"tests.campaigns.{name}").campaign(count, random.Random(seed))
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(name, count, f"seed {seed}", f"{time.monotonic() - started:.0f} s", f"{megabytes} MB", dict(counts))
    return int(any(key.startswith("FIND") and value for key, value in counts.items()))


def arguments() -> argparse.Namespace:
    """The command line; ``count`` and ``seed`` as the campaign has them when they are not given."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns", description=__doc__)
    parser.add_argument("name", choices=DEFAULTS)
    parser.add_argument("count", type=int, nargs="?")
    parser.add_argument("seed", type=int, nargs="?")
    parser.add_argument("--engine", action="append", default=[], metavar="REQUIREMENT")
    given = parser.parse_args()
    if given.engine and given.name != "load":
        parser.error("--engine goes with load alone")
    given.count = DEFAULTS[given.name] if given.count is None else given.count
    given.seed = given.count if given.seed is None else given.seed
    return given


if __name__ == "__main__":
    chosen = arguments()
    sys.exit(main(chosen.name, chosen.count, chosen.seed, chosen.engine))
