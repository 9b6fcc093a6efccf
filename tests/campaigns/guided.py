"""Fuzzing guided by coverage: ``python -m tests.campaigns.guided TARGET SECONDS [FOLDER]``.

Needs atheris (``pip install atheris``). TARGET is zips, diffs, configs, symptoms, tars or programs. A
find ends the run with its traceback, and its bytes stand in FOLDER as ``crash-…``: it becomes a test.
"""

import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

SOUND_DIFF = (
    b"diff --git a/pkg/a.py b/pkg/a.py\nindex 1234567..89abcde 100644\n--- a/pkg/a.py\n+++ b/pkg/a.py\n"
    b"@@ -1,2 +1,2 @@\n one\n-two\n+2\n\\ No newline at end of file\n"
)


def targets() -> dict[str, tuple[Callable[[bytes], object], list[bytes]]]:
    """What is attacked, and what the attack begins with."""
    from investigator.errors import InvestigateError
    from investigator.validation.launchers.archive import unpack_results
    from tests.campaigns import configs, diffs, zips
    from tests.code.random_programs.asking import ask
    from tests.code.random_programs.programs import seeded
    from tests.triage.test_robustness import PARTS, whole_way
    from tests.validation.launchers.test_archive import tar

    def must_agree(compare: Callable[[bytes], str]) -> Callable[[bytes], None]:
        def one(data: bytes) -> None:
            if (result := compare(data)).startswith("FIND"):
                raise AssertionError(result)

        return one

    def unpack(data: bytes) -> None:
        with tempfile.TemporaryDirectory() as folder:
            inside = Path(folder) / "inside"
            inside.mkdir()
            with suppress(InvestigateError):
                unpack_results(data, inside)
            assert list(Path(folder).iterdir()) == [inside]
            assert not any(path.is_symlink() for path in inside.rglob("*"))

    given = seeded(0, runs=1, in_order=False)[1][0]
    written = [seeded(seed, runs=0, in_order=False)[0].encode() for seed in range(60)]
    return {
        "zips": (must_agree(zips.compared), list(zips.SEEDS)),
        "diffs": (lambda data: diffs.applied({"pkg/a.py": b"one\ntwo"}, data), [SOUND_DIFF]),
        "configs": (must_agree(configs.compared), [b'{"a": [1, 2.5e3, null], "b": {"c": "\\u00e9"}}']),
        "symptoms": (whole_way, ["".join(PARTS).encode()]),
        "tars": (unpack, [tar(("results/a.json", b"{}"), ("results/b.log", "link"))]),
        "programs": (lambda text: ask(text, given, ["a", "xs"]), written),
    }


def main(name: str, seconds: int, folder: Path) -> None:
    """Attack until the time is up."""
    import atheris

    with atheris.instrument_imports(include=["investigator", "tests.triage", "unidiff", "json", "tarfile"]):
        attack, seeds = targets()[name]
    corpus = folder / f"corpus-{name}"
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(seeds):
        (corpus / f"seed-{number}").write_bytes(seed)
    arguments = [
        f"-max_total_time={seconds}",
        f"-artifact_prefix={folder}/",
        "-timeout=20",
        "-rss_limit_mb=1500",
    ]
    atheris.Setup([sys.argv[0], *arguments, "-print_final_stats=1", str(corpus)], attack)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3] if len(sys.argv) > 3 else "guided"))
