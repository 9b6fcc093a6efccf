"""What the pages say is refused, promised or returned is reached by a test, sentence by sentence."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from investigator.errors import ExitCode

ROOT = Path(__file__).parents[2]

REFUSED = {
    "one name twice": "sources/test_range_zip.py::one name twice",
    "absolute names": "sources/test_range_zip.py::/etc/passwd",
    "names with `..`, `\\`, `:` or control characters": "sources/test_range_zip.py::test_unsafe_names",
    "members that overlap": "sources/test_range_zip.py::overlapping members",
    "more than one end record": "sources/test_range_zip.py::two end records",
    "bytes before or behind the archive": "sources/test_range_zip.py::something before the start",
    "headers that contradict the directory": "sources/test_range_zip.py::local name differs",
    "wrong sizes and checksums": "sources/test_range_zip.py::bad checksum",
    "encryption": "sources/test_range_zip.py::encrypted",
    "zip64": "sources/test_range_zip.py::zip64 member",
    "packing other than stored and deflated": "sources/test_range_zip.py::method 12",
    "a wheel without exactly one RECORD": "sources/test_wheel.py::2 RECORD files instead of one",
    "of another package or version": "sources/test_wheel.py::test_another_package_under_this_name",
    "a RECORD that names a path twice": "sources/test_record_file.py::a.py,,\\na.py,,",
    "an entry under another name than RECORD has there": (
        "sources/test_wheel_directory.py::test_an_entry_under_another_name_than_record_says_is_an_error"
    ),
    "Of a tar that comes back from another machine only plain files below `results/` are taken": (
        "validation/launchers/test_archive.py::test_nothing_else_is_written"
    ),
    "it is not unpacked when it is packed": "validation/launchers/test_archive.py::gzip.compress",
    "paths that leave the tree or lead into `.git`": "sources/test_diff_reader.py::its path leaves the tree",
    "names that are not UTF-8": "sources/test_diff_reader.py::its name cannot be read",
    "headers that git does not write or that contradict each other": (
        "sources/test_diff_reader.py::not one that git writes"
    ),
    "hunks that hold other lines than they count": "sources/test_diff_reader.py::other lines than they count",
    "links": "sources/test_diff_reader.py::a link",
    "submodules": "sources/test_diff_reader.py::submodule",
    "binary files": "sources/test_diff_reader.py::it is binary",
    "copies": "sources/test_diff_reader.py::a copy of another file",
    "what is cut off": "sources/test_diff_reader.py::it is cut off",
    "One such file does not spoil the others": "sources/test_diff_reader.py::test_one_bad_file_does_not",
    "inside the engine's packages it is a conflict": (
        "pull_requests/test_fit.py::test_a_binary_file_outside_does_no_harm_and_inside_is_a_conflict"
    ),
    "one key twice": "checkpoints/test_strict_json.py::the key 'a' twice",
    "`NaN` and infinities": "checkpoints/test_strict_json.py::holds -Infinity",
    "other encodings than UTF-8 (a byte order mark is passed over)": (
        "checkpoints/test_strict_json.py::test_a_byte_order_mark_is_no_error"
    ),
    "half a character": "checkpoints/test_strict_json.py::half of a character",
    "anything behind the value": 'checkpoints/test_strict_json.py::{"a": 1} {"b": 2}',
    "(`auto_map`, modeling files): their code is read as text and never run": (
        "agents/test_hub.py::test_the_drafters_own_code_is_one_more_reference_and_is_never_run"
    ),
    "links that lead out of them are not followed": (
        "sources/test_folder.py::test_links_are_followed_inside_and_nowhere_else"
    ),
    "devices and pipes are never opened": "sources/test_folder.py::test_a_pipe_is_never_opened",
    "from TLS to plain HTTP": "sources/test_transport.py::leaves TLS",
    "from elsewhere into a private network": "sources/test_transport.py::private network",
}
"""``docs/security.md``, "What is refused whatever its size": words of it, and of the test that reaches it."""

ASSUMED = {
    "Nothing that was fetched is imported, executed, unpickled or handed to a shell.": (
        "project/test_architecture.py::test_nothing_fetched_is_run"
    ),
    "Members of a wheel are checked against the wheel's RECORD; a mismatch is an error, not a warning.": (
        "sources/test_wheel.py::test_a_member_whose_hash_is_wrong"
    ),
    "Tokens are read from the environment only (`GITHUB_TOKEN`, `GH_TOKEN`, `HF_TOKEN`), sent only to the "
    "server they belong to, and never logged, written or shown.": (
        "commands/test_canary.py::test_servers_that_redirect_to_a_stranger"
    ),
    "With `--offline` no connection is opened.": "sources/test_transport.py::test_offline_opens_no_socket",
    "Foreign text comes out inert in every format: Markdown and HTML markup, mentions, links, workflow "
    "commands, terminal escapes and direction marks are shown as text.": (
        "reports/test_hostile.py::test_every_format_is_looked_at"
    ),
    "The HTML report loads nothing and its policy allows no script but its own.": (
        "reports/test_html.py::test_nothing_is_loaded"
    ),
    "Each file of a run folder is there whole or not at all.": (
        "commands/test_output.py::test_a_file_that_cannot_take_its_place_leaves_nothing"
    ),
    "Patches are named by this program.": "investigator/test_run_folder.py::test_a_slug_is_safe",
    "A quote is read again from its source before it is printed; one that differs fails the run.": (
        "investigator/test_conduct.py::test_a_quote_that_does_not_hold_fails_the_run"
    ),
}
"""``docs/security.md``, "What a user can assume"."""

NAMED = {
    "patches.md": {
        "A patch that was not seen to hold is not written": (
            "patches/test_series.py::test_edits_that_repair_nothing_are_refused"
        ),
        "`apply` changes only files that are there, and refuses them": (
            "patches/test_apply.py::test_a_patch_that_adds_a_file_is_for_a_checkout"
        ),
        "an interrupted run before is finished first": "patches/test_faults.py::test_killed_anywhere",
        "The version is the one the patches were made for": "patches/test_apply.py::test_another_version",
        "each file is, by its hash, the file they were made for": "commands/test_apply.py::test_an_edited",
        "A full disk or a read-only folder is noticed here": "patches/test_faults.py::test_apply_fails",
        "if the child is killed the parent takes everything back": "patches/test_faults.py::test_killed",
        "the next `apply` or `revert` goes on from there": (
            "patches/test_faults.py::test_the_machine_stops_between_two_files"
        ),
        "other environments that share the cache are not touched": (
            "patches/test_apply.py::test_hard_links_into_a_package_cache_are_broken_first"
        ),
        "A package folder that is itself a link to somewhere else is refused": (
            "patches/test_apply.py::test_a_folder_that_others_share_is_refused"
        ),
        "RECORD does not match the patched files any more; `apply` says which": (
            "patches/test_apply.py::test_the_notes_tell_what_pip_will_notice"
        ),
        "It refuses, and changes nothing, when the package was reinstalled": (
            "patches/test_apply.py::test_after_a_reinstall_of_another_version_revert_refuses"
        ),
        "or a patched file was edited since": "patches/test_apply.py::test_after_a_hand_edit_revert_refuses",
        "After an upgrade of the package the overlay is refused by its own check": (
            "patches/test_overlay.py::test_a_later_look_tells_that_the_installation_moved_on"
        ),
    },
    "ci.md": {
        "3 when something could not be decided": "investigator/test_outcome.py::(V.UNKNOWN, Runner.V1)",
        "Only the runner that the case uses counts": "investigator/test_outcome.py::(V.BROKEN, Runner.V2)",
        "does not fail the command. Anything new or worse does": (
            "investigator/test_baseline.py::test_what_was_known_does_not_fail_and_what_got_worse_does"
        ),
        "A baseline is about one drafter; engine and revision may change": (
            "investigator/test_baseline.py::test_another_release_of_the_engine_is_compared_and_another_drafter"
        ),
    },
    "api.md": {
        "An agent that fails does not raise": "investigator/test_run.py::test_an_agent_that_fails_leaves",
        "A sink is told what happens": (
            "project/test_api_docs.py::test_the_examples_run_and_say_what_they_say"
        ),
    },
    "snapshots.md": {
        "asks for a snapshot and nothing else": "sources/test_hub.py::test_a_snapshot_can_be_asked_for",
        "A snapshot never stands in for a revision that was named": (
            "sources/test_hub.py::test_a_snapshot_never_stands_in_for_a_revision"
        ),
        "Only what came live is recorded": "commands/test_snapshot.py::test_a_snapshot_is_never_recorded",
        "is *unknown*, not absent": (
            "checkpoints/test_read.py::test_a_window_whose_switch_was_not_seen_is_unknown"
        ),
    },
    "symptoms.md": {
        "The answer may be that no engine fault is shown, or that the figures do not tell": (
            "triage/test_judge.py::Answer.NO_FAULT"
        ),
        "Secrets (`--api-key`, tokens) are left out of whatever is shown": (
            "triage/test_command.py::test_engine_variables_are_kept_and_secrets_are_not"
        ),
        "memory stays the same for a log of any size": (
            "triage/test_robustness.py::test_hostile_repetition_stays_small"
        ),
    },
    "cli.md": {
        "Exit code 3 when it is not enough to judge": (
            "commands/test_symptom.py::test_triage_of_nothing_that_it_knows_is_incomplete"
        ),
        "Exit code 4, and nothing is changed, when a patch does not apply or the engine is another one": (
            "commands/test_apply.py::test_another_version_is_refused"
        ),
        "Exit code 4, and nothing is changed, when nothing is patched there": (
            "commands/test_apply.py::test_nothing_to_take_back"
        ),
        "or the engine was reinstalled or a patched file edited since": (
            "commands/test_apply.py::test_what_was_edited_since_stays"
        ),
        "Exit code 4, and nothing is left, when a patch does not apply or the engine is not the one it": (
            "commands/test_overlay.py::test_another_version_is_refused_and_leaves_nothing"
        ),
        "it must not exist yet": "commands/test_overlay.py::test_a_folder_that_is_there_is_not_written",
        "What cannot be had stays as it was recorded before": (
            "commands/test_snapshot.py::test_what_cannot_be_had_leaves_the_old_record_and_says_so"
        ),
        "Leave out what does not fit": "commands/test_validate.py::test_a_budget_names_what_it_leaves_out",
    },
}
"""Errors and refusals that the other pages name: words of the page, and of the test that reaches them."""

RETURNED = {
    ExitCode.CLEAN: "investigator/test_outcome.py::(run((V.HONOURED, Runner.V1)), 0)",
    ExitCode.FINDINGS: "commands/test_run.py::test_exit_codes",
    ExitCode.USAGE: "commands/test_run.py::test_a_request_that_cannot_be_read_is_one_clear_error",
    ExitCode.INCOMPLETE: "commands/test_run.py::test_an_agent_that_failed_is_an_error_even_when_quiet",
    ExitCode.PATCH_FAILED: "commands/test_apply.py::test_an_edited_file_is_refused",
    ExitCode.CONTRADICTED: "validation/test_service.py::test_findings_that_the_figures_contradict_end_in",
    ExitCode.INTERRUPTED: "commands/test_run.py::test_an_interrupt_leaves_what_was_found",
}


def section(page: str, heading: str) -> str:
    """A section of a page, on one line."""
    text = (ROOT / "docs" / page).read_text().partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return " ".join(text.split())


@pytest.mark.parametrize(
    ("heading", "said"),
    [("What is refused whatever its size", REFUSED), ("What a user can assume", ASSUMED)],
)
def test_no_sentence_of_the_security_model_is_without_a_test(heading: str, said: Mapping[str, str]) -> None:
    """What is left of a section once the words that have tests are taken out names nothing by itself."""
    rest = section("security.md", heading)
    for words in said:
        assert words in rest, words
        rest = rest.replace(words, "", 1)
    rest = re.sub(r"\*\*.*?\*\*", "", rest)  # what it is about

    assert set(re.findall(r"\w+", rest)) <= {"and", "that", "of", "from"}


def test_every_exit_code_is_reached() -> None:
    assert set(RETURNED) == set(ExitCode)


@pytest.mark.parametrize("page", NAMED)
def test_what_the_other_pages_name_stands_there(page: str) -> None:
    text = " ".join((ROOT / "docs" / page).read_text().split())

    assert [words for words in NAMED[page] if words not in text] == []


@pytest.mark.parametrize(
    "place",
    [
        *REFUSED.values(),
        *ASSUMED.values(),
        *RETURNED.values(),
        *(p for pages in NAMED.values() for p in pages.values()),
    ],
)
def test_the_test_is_there(place: str) -> None:
    file, _, words = place.partition("::")

    assert words in (ROOT / "tests" / file).read_text()
