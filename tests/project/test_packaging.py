"""What is installed: one package, with agents, reports and fixtures inside it."""

import base64
import csv
import hashlib
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

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


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """The wheel, built from the sdist, which is built from the files that git would hand out."""
    folder = tmp_path_factory.mktemp("dist")
    listed = call("git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    project = folder / "project"
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (project / name).parent.mkdir(parents=True, exist_ok=True)
            (project / name).write_bytes((ROOT / name).read_bytes())
    build = "import setuptools.build_meta as b; print(b.build_sdist('..'))"
    sdist = call(sys.executable, "-c", build, cwd=project).splitlines()[-1]
    with tarfile.open(folder / sdist) as archive:
        archive.extractall(folder, filter="data")
    unpacked = folder / sdist.removesuffix(".tar.gz")
    call(*PIP, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, unpacked)
    (built,) = folder.glob("*.whl")
    return built


def names(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


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
