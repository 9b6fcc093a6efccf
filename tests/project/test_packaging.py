"""What is installed: one package, with agents, reports and fixtures inside it."""

import base64
import csv
import hashlib
import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import investigator

ROOT = Path(__file__).parents[2]
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")
SCRIPT = """
import importlib.util, investigator.agents.interface, investigator.reports.formats, investigator.fixtures
print([name for name in ("agents", "reports", "fixtures") if importlib.util.find_spec(name)])
"""


def call(*arguments, **options):
    done = subprocess.run([*map(str, arguments)], capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


def handed_out() -> list[str]:
    """The files that git would hand out."""
    listed = call("git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    return [name for name in listed.split("\0") if name and (ROOT / name).is_file()]


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory) -> Path:
    """The sdist, built from the files that git would hand out, and unpacked."""
    folder = tmp_path_factory.mktemp("dist")
    project = folder / "project"
    for name in handed_out():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_bytes((ROOT / name).read_bytes())
    build = "import setuptools.build_meta as b; print(b.build_sdist('..'))"
    sdist = call(sys.executable, "-c", build, cwd=project).splitlines()[-1]
    with tarfile.open(folder / sdist) as archive:
        archive.extractall(folder, filter="data")
    return folder / sdist.removesuffix(".tar.gz")


@pytest.fixture(scope="module")
def wheel(unpacked) -> Path:
    """The wheel, built from the sdist."""
    call(*PIP, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", unpacked.parent, unpacked)
    (built,) = unpacked.parent.glob("*.whl")
    return built


def names(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def test_the_sdist_holds_every_file_of_the_repository(unpacked):
    assert [name for name in handed_out() if not (unpacked / name).is_file()] == []


def test_no_file_reaches_a_megabyte():
    assert [name for name in handed_out() if (ROOT / name).stat().st_size >= 1_000_000] == []


def test_the_version_stands_in_one_place(unpacked):
    (release,) = {unpacked.name.rpartition("-")[2], investigator.__version__}
    holds = [n for n in handed_out() if n.endswith((".py", ".toml")) and not n.startswith("tests/")]

    assert [n for n in holds if f'"{release}"' in (ROOT / n).read_text(encoding="utf-8")] == [
        "investigator/__init__.py"
    ]
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\n## {release} - " in changelog


def test_one_package_is_installed_and_nothing_beside_it(wheel):
    tops = {name.split("/")[0] for name in names(wheel)}

    assert tops == {"investigator", wheel.name.removesuffix("-py3-none-any.whl") + ".dist-info"}


def test_every_file_that_the_package_reads_is_in_it(wheel):
    packed = set(names(wheel))
    for folder in ("agents", "reports", "fixtures", "investigator"):
        place = "investigator" if folder == "investigator" else f"investigator/{folder}"
        tracked = call("git", "-C", ROOT, "ls-files", folder).splitlines()
        missing = {name for name in tracked if name.replace(folder, place, 1) not in packed}
        assert missing == set()


def test_the_environment_of_these_tests_has_no_module_of_ours_at_the_top(tmp_path):
    assert call(sys.executable, "-I", "-c", SCRIPT, cwd=tmp_path) == "[]"


@pytest.mark.network
@pytest.mark.slow
def test_the_lowest_dependencies_that_are_asked_for_run_the_main_job(wheel, tmp_path):
    """Into an empty environment, with no extras: each bound of pyproject.toml taken by its word."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lowest = [bound.replace(">=", "==") for bound in project["dependencies"]]
    call(sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv")
    python = tmp_path / "venv" / "bin" / "python"
    call(*PIP, "--python", python, "install", wheel, *lowest)

    alone = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [python.with_name("investigate"), "--format", "json", "--out", tmp_path / "run"],
        cwd=tmp_path, env=alone, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 1, done.stderr
    assert len(list((tmp_path / "run" / "patches").glob("*.patch"))) == 4


@pytest.mark.network
@pytest.mark.parametrize("first", ["ours", "theirs"])
def test_installed_beside_openai_agents_both_stay_whole(wheel, tmp_path, first):
    call(sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv")
    python = tmp_path / "venv" / "bin" / "python"
    for distribution in (wheel, "openai-agents") if first == "ours" else ("openai-agents", wheel):
        call(*PIP, "--python", python, "install", "--no-deps", distribution)
    site = Path(call(python, "-c", "import site; print(site.getsitepackages()[0])"))

    for record in site.glob("*.dist-info/RECORD"):
        assert changed(site, record) == []
    assert len(list(site.glob("*.dist-info"))) == 2
    ours_needs = os.pathsep.join(path for path in sys.path if path.endswith("site-packages"))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(site), ours_needs))}
    assert call(python, "-c", SCRIPT, cwd=tmp_path, env=environment) == "['agents']"


def changed(site: Path, record: Path) -> list[str]:
    """The files of one distribution that are not as its RECORD says."""
    wrong = []
    for name, digest, _ in csv.reader(record.read_text(encoding="utf-8").splitlines()):
        if digest and name.split("/")[0] != "..":
            there = hashlib.sha256((site / name).read_bytes()).digest()
            expected = base64.urlsafe_b64decode(digest.removeprefix("sha256=") + "=")
            wrong += [name] if there != expected else []
    return wrong
