"""Real releases written in other shapes: the code that the answers rest on, each shape in every place where
it fits, at once.

No verdict may become another one. Where a shape is common, none may become unknown either. The wheels are
fetched at test time.
"""

from collections.abc import Callable
from functools import cache

import pytest

from investigator.sources.open import Workspace
from tests.support.releases import MIXED, Release, open_release_files, shared_folder
from tests.support.rewriting import SHAPES, rewritten
from tests.support.rewriting.names import private_names_changed

pytestmark = [pytest.mark.network, pytest.mark.slow]

RELEASES = (
    ("vllm", "0.20.1"),
    ("vllm", "0.28.0"),
    ("vllm", "0.33.0"),
    ("sglang", "0.5.16"),
    ("sglang", "0.5.23"),
)
COMMON = (
    "written_anew",
    "by_keyword",
    "by_position",
    "method_dispatch",
    "nested_ifs",
    "early_returns",
    "one_exit",
    "loops_for_comprehensions",
    "comprehensions_for_loops",
    "attribute_aliases",
)
OPEN = {"unknown", "not-applicable"}
"""What a verdict may become: what is not applicable to a drafter is so whatever the engine does."""


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Release]:
    workspace = Workspace.open(cache_dir=shared_folder(tmp_path_factory))
    return cache(lambda engine, version: open_release_files(version, workspace, engine))


def turned(made: Release, shape: str) -> dict[str, str]:
    """The verdicts that a shape changes, and what to."""
    before = made.verdicts(MIXED)
    paths = [path for path in made.read[MIXED] if path.endswith(".py")]
    if shape in SHAPES:
        files = rewritten(made.files, paths, SHAPES[shape])
    else:
        files = private_names_changed(made.files, paths)
    if files == made.files:
        pytest.skip("nothing that these answers rest on has a place for this shape")
    after = made.verdicts(MIXED, files)
    return {question: after[question] for question in before if after[question] != before[question]}


@pytest.mark.parametrize("shape", [*SHAPES, "private_names_changed"])
@pytest.mark.parametrize(("engine", "version"), RELEASES)
def test_no_verdict_becomes_another(
    release: Callable[[str, str], Release], engine: str, version: str, shape: str
) -> None:
    found = turned(release(engine, version), shape)

    assert set(found.values()) <= OPEN, found
    assert shape not in COMMON or not found
