"""What a report says about its patches together, and about settings in their place."""

from investigator.model import Json, Runner
from investigator.reports import html, markdown
from investigator.reports.series_section import detour_blocks, series_blocks
from tests.support import builders

PAIR: dict[str, Json] = {"patches": ("0001-a.patch", "0002-b.patch"), "commute": True}
SERIES: dict[str, Json] = {
    "refused": ({"contract": "layer-types", "reason": "one group", "instead": "another release"},),
    "covered": {"feature-width": "target-layer-offset"},
    "order": {"0003-c.patch": ("0001-a.patch", "0002-b.patch")},
    "pairs": (PAIR, {"patches": ("0001-a.patch", "0003-c.patch"), "commute": False}),
    "together": {
        "patches": ("0001-a.patch", "0002-b.patch", "0003-c.patch"), "commute": False,
        "repaired": ("cache-drop", "lookahead"), "worse": (),
    },
}  # fmt: skip
COMMAND = """vllm serve x --speculative-config '{"method": "dflash"}'"""
DETOURS: tuple[Json, ...] = (
    {"command": COMMAND, "runner": "v1", "avoids": ["cache-drop"], "leaves": ["rope"], "undecided": []},
    {"command": f"A=1 {COMMAND}", "runner": "v2", "avoids": ["rope"], "leaves": [], "undecided": ["x", "y"]},
)


def told(**changes: object):
    return builders.investigation(extra={"patch_series": SERIES, "detours": DETOURS}, **changes)


def test_what_holds_beyond_each_patch_alone():
    bullets, commands = series_blocks(told())

    assert bullets.items == (
        "0003-c.patch is written on top of 0001-a.patch and 0002-b.patch",
        "feature-width needs no patch of its own: the one for target-layer-offset repairs it too",
        "2 pairs tried: each keeps what its patches repair alone; "
        "the order matters for 0001-a.patch and 0003-c.patch",
        "all 3 together, in this order, repair cache-drop and lookahead and make nothing worse",
        "no patch for layer-types: the reason is among what was not checked",
    )
    assert "investigate apply . --to installed" in commands.text


def test_one_pair_in_either_order():
    (bullets, _) = series_blocks(builders.investigation(extra={"patch_series": {"pairs": (PAIR,)}}))

    assert bullets.items == ("1 pair tried: each keeps what its patches repair alone, in either order",)


def test_without_patches_there_is_no_series():
    assert series_blocks(told(patches=())) == []


def test_each_way_says_what_it_avoids_and_leaves():
    stay, switch = detour_blocks(told(default_runner=Runner.V1))

    assert (stay.title, stay.text) == ("Avoids cache-drop; rope stays at fault:", COMMAND)
    assert switch.title == ("On model runner V2, avoids rope; no fault is left; not known there: x and y:")


def test_the_command_stands_in_the_report_as_it_is_pasted():
    page = markdown.render(told())

    assert "\n## Settings instead of patches\n" in page
    assert f"```text\n{COMMAND}\n```" in page
    assert "<h2>Settings instead of patches</h2>" in html.render(told())


def test_a_run_without_settings_says_nothing_of_them():
    assert "Settings instead" not in markdown.render(builders.investigation())
    assert "Settings instead" not in html.render(builders.investigation())
