"""Damaged archives: what the range reader still accepts must be what zipfile reads."""

import io
import random
import zipfile
from collections import Counter

from investigator.errors import InvestigateError
from tests.sources.test_range_zip import archive, read_all
from tests.support.wheels import incompressible

SEEDS = (
    archive({"pkg/a.py": b"a = 1\n" * 50, "pkg/b.py": b"", "pkg/c/": b""}),
    archive({"pkg/a.bin": incompressible(200), "é.py": b"x"}, zipfile.ZIP_STORED),
    archive({f"m{n}.py": b"x = %d\n" % n for n in range(20)}),
)


def campaign(count: int, chance: random.Random) -> Counter[str]:
    """Damage ``count`` sound archives at random."""
    counts: Counter[str] = Counter()
    for _ in range(count):
        data = bytearray(chance.choice(SEEDS))
        for _ in range(chance.randint(1, 6)):
            at = chance.randrange(len(data))
            match chance.randrange(4):
                case 0:
                    data[at] = chance.randrange(256)
                case 1:
                    data[at] ^= 1 << chance.randrange(8)
                case 2:
                    del data[at : at + chance.randint(1, 30)]
                case _:
                    source = chance.randrange(len(data))
                    data[at:at] = data[source : source + chance.randint(1, 60)]
            if not data:
                break
        counts[compared(bytes(data))] += 1
    return counts


def compared(data: bytes) -> str:
    """What became of one archive; begins with FIND when the two readers disagree."""
    try:
        found = read_all(data)
    except InvestigateError:
        return "refused"
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as reader:
            same = found == {n: reader.read(n) for n in reader.namelist() if not n.endswith("/")}
    except Exception as error:
        return f"FIND: accepted what zipfile refuses ({type(error).__name__})"
    return "read alike" if same else "FIND: read otherwise than zipfile"
