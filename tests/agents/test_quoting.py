"""What was not asked of a live source is said once for each reason."""

from investigator.agents.quoting import not_live
from investigator.model import NotChecked


def test_one_reason_for_two_names_is_one_entry() -> None:
    said = not_live(
        "the Hub itself",
        {
            "a/draft": "a/draft is gated (ask for it)",
            "a/target": "",
            "a/other": "a/other is gated (ask for it)",
        },
    )

    assert said == [
        NotChecked(what="the Hub itself, for a/draft and a/other", why="it is gated (ask for it)")
    ]


def test_other_reasons_stay_apart() -> None:
    said = not_live("GitHub itself", {"o/r#1": "o/r#1 does not exist", "o/r#2": "the limit is reached"})

    assert [item.what for item in said] == ["GitHub itself, for o/r#1", "GitHub itself, for o/r#2"]
