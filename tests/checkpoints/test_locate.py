"""Which lines of a JSON text hold a key."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from investigator.checkpoints import Lines, key_lines

CONFIG = """\
{
  "architectures": ["DFlashDraftModel"],
  "dflash_config": {
    "mask_token_id": 248070,
    "target_layer_ids": [
      1,
      16
    ]
  },
  "a \\"quoted\\" key": ":,{",
  "layers": [
    {"window": 2048},
    {"window": null}
  ],
  "sliding_window": 2048
}
"""


@pytest.mark.parametrize(
    ("key", "line", "end_line"),
    [
        ("architectures", 2, 2),
        ("dflash_config", 3, 9),
        ("dflash_config.mask_token_id", 4, 4),
        ("dflash_config.target_layer_ids", 5, 8),
        ('a "quoted" key', 10, 10),
        ("layers.0.window", 12, 12),
        ("layers.1.window", 13, 13),
        ("sliding_window", 15, 15),
    ],
)
def test_a_key_spans_from_its_name_to_the_end_of_its_value(key: str, line: int, end_line: int) -> None:
    assert key_lines(CONFIG)[key] == Lines(line, end_line)


def test_a_minified_file_has_one_line() -> None:
    assert set(key_lines('{"a":{"b":[1,2]},"c":3}').values()) == {Lines(1, 1)}


NAMES = st.text(alphabet='abc{}[]:,"\\ é', min_size=1, max_size=6)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | NAMES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=12,
)


@settings(deadline=None)
@given(st.dictionaries(NAMES, VALUES, max_size=5))
def test_every_top_level_key_is_found_on_the_line_that_holds_it(config: dict[str, object]) -> None:
    text = json.dumps(config, indent=2)
    lines = text.split("\n")
    spans = key_lines(text)

    for key, value in config.items():
        span = spans[key]
        assert lines[span.line - 1].startswith(f"  {json.dumps(key)}: ")
        shown = json.dumps(value, indent=2).replace("\n", "\n  ")
        assert span.end_line - span.line == shown.count("\n")
