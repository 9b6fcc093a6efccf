"""The limits in docs/security.md are those of the code, and each is reached by a test."""

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROW = re.compile(
    r"^\| (?P<what>[^|]+) \| (?P<most>[\d,]+) ?(?P<unit>\w*) \| `(?P<place>[\w.]+)` \|$", re.MULTILINE
)
UNITS = {"": 1, "bytes": 1, "s": 1, "KiB": 1 << 10, "MiB": 1 << 20}

REACHED = {
    "sources.range_zip.MAX_MEMBERS": "sources/test_range_zip.py::test_too_many_members_are_refused",
    "sources.range_zip.MAX_DIRECTORY": "sources/test_range_zip.py::test_a_directory_that_is_too_large",
    "sources.range_zip.MAX_MEMBER": "sources/test_wheel.py::test_a_member_over_the_limit_is_not_fetched",
    "sources.range_zip.MAX_RATIO": "sources/test_range_zip.py::test_hostile_archives_are_refused",
    "sources.range_zip.MAX_NAME": "sources/test_range_zip.py::test_unsafe_names_are_refused",
    "sources.wheel.MAX_CONTENTS": "sources/test_wheel.py::test_files_that_are_small_packed_and_large",
    "sources.byte_range.WHOLE_LIMIT": "sources/test_byte_range.py::test_a_large_file_of_a_server",
    "sources.package_index.LISTING_LIMIT": "sources/test_package_index.py::test_a_list_that_is_too_large",
    "sources.index_page.MAX_COMMENTS": "sources/test_package_index.py::test_a_page_that_parsers_take_hours",
    "sources.transport.DEFAULT_LIMIT": "sources/test_transport.py::test_a_body_over_the_limit_of_every",
    "sources.transport.ERROR_BODY_LIMIT": "sources/test_transport.py::ERROR_BODY_LIMIT",
    "sources.connections.MAX_CONNECTIONS": "sources/test_transport.py::test_thirty_at_once_share_eight",
    "sources.transport.MAX_REDIRECTS": "sources/test_transport.py::redirects more than 5 times",
    "sources.web.NetworkPolicy.tries": "sources/test_transport.py::test_trouble_that_may_pass_is_tried",
    "sources.web.NetworkPolicy.longest_wait": "sources/test_transport.py::test_retry_after_an_hour_is",
    "sources.web.NetworkPolicy.connect_timeout": "sources/test_hub_client.py::within_the_connect_timeout",
    "sources.web.NetworkPolicy.read_timeout": "sources/test_faults.py::read_timeout",
    "sources.folder.MAX_FILES": "sources/test_folder.py::test_too_many_files",
    "sources.git_tree.MAX_FILES": "sources/test_git_tree.py::test_too_many_files",
    "sources.git_tree.MAX_LISTING": "sources/test_git_tree.py::says more than 33554432 bytes",
    "sources.git_tree.MAX_CONTENTS": "sources/test_git_tree.py::hold more than 2500 bytes",
    "sources.diff_reader.MAX_BYTES": "sources/test_diff_reader.py::20,971,520",
    "sources.diff_reader.MAX_FILES": "sources/test_diff_reader.py::3,001 files",
    "checkpoints.strict_json.MAX_BYTES": "checkpoints/test_strict_json.py::4,194,305 bytes",
    "checkpoints.strict_json.MAX_DEPTH": "checkpoints/test_strict_json.py::deeper than 64",
    "checkpoints.strict_json.MAX_INT_DIGITS": "checkpoints/test_strict_json.py::19 digits",
    "checkpoints.fields.MAX_LAYERS": "checkpoints/test_read.py::test_numbers_no_real_model_has_are_a_limit",
    "checkpoints.fields.MAX_TAPS": "checkpoints/test_read.py::test_numbers_no_real_model_has_are_a_limit",
    "sources.hub_model.MAX_MODELING_FILES": "sources/test_hub_client.py::test_of_many_modeling_files",
    "code.syntax.MAX_FILE_BYTES": "code/test_limits.py::test_a_search_passes_over_files_that_are_too_large",
    "code.program.MAX_TREE_BYTES": "code/test_limits.py::test_many_files_are_too_large_together",
    "code.interpreter.Budget.steps": "code/test_budget.py::more than 100,000 steps",
    "code.interpreter.Budget.depth": "code/test_budget.py::nest deeper than 24",
    "code.interpreter.Budget.iterations": "code/test_budget.py::more than 10,000 rounds",
    "baseline.MAX_BYTES": "investigator/test_baseline.py::test_a_missing_file_and_a_huge_one_too",
    "patches.git.MAX_PATCH_BYTES": "commands/test_apply.py::test_a_patch_file_that_is_too_large",
    "validation.launchers.archive.MAX_BYTES": "validation/launchers/test_archive.py::268,435,457 bytes",
    "validation.launchers.archive.MAX_MEMBER_BYTES": "validation/launchers/test_archive.py::has 4 bytes",
    "validation.launchers.archive.MAX_RESULTS": "validation/launchers/test_archive.py::more than 2 files",
    "sources.store.MEMORY_LIMIT": "sources/test_store.py::test_memory_has_an_end",
}
"""Below tests/: the file, and words of the test in it that reaches the limit."""

rows = {row["place"]: row for row in ROW.finditer((ROOT / "docs" / "security.md").read_text())}


def test_every_limit_that_is_written_down_is_reached_by_a_test() -> None:
    assert set(rows) == set(REACHED)


@pytest.mark.parametrize("place", REACHED)
def test_a_limit_is_what_the_page_says(place: str) -> None:
    module, *names = _split(place)
    value = importlib.import_module(f"investigator.{module}")
    for name in names:
        value = getattr(value, name)

    row = rows[place]

    assert value == int(row["most"].replace(",", "")) * UNITS[row["unit"]]
    file, _, words = REACHED[place].partition("::")
    assert words in (ROOT / "tests" / file).read_text()


def _split(place: str) -> tuple[str, ...]:
    """The module's name and what is named in it: constants and classes begin with a capital."""
    parts = place.split(".")
    first = next(n for n, part in enumerate(parts) if part[0].isupper())
    return ".".join(parts[:first]), *parts[first:]
