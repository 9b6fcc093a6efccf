"""Explanations as plain text for a terminal, and as Markdown for the documentation."""

import textwrap
from collections.abc import Sequence

from investigator.explain.explanation import Explanation, KeyExplanation

WIDTH = 80


def plain(explanation: Explanation | KeyExplanation, width: int = WIDTH) -> str:
    """The explanation as text of at most ``width`` columns (a drawing keeps its own)."""
    if isinstance(explanation, KeyExplanation):
        return _plain_key(explanation, width)
    blocks = [
        explanation.contract,
        _filled(explanation.promise, width),
        _filled(explanation.matters, width),
        textwrap.indent(explanation.drawing, "    "),
    ]
    for title, points in _sections(explanation):
        blocks += [f"{title}\n{_points(points, width)}"]
    return "\n\n".join(blocks) + "\n"


def markdown(explanations: Sequence[Explanation], keys: Sequence[KeyExplanation]) -> str:
    """One page of documentation: all contracts, then all keys."""
    blocks = [
        "# Contracts",
        "What each promise means, how it is broken, and what to do; the same texts as `investigate "
        "explain`. Made from the program; see [CONTRIBUTING.md](../CONTRIBUTING.md) for how to make it "
        "anew.",
        "\n".join(f"- [`{each.contract}`](#{each.contract})" for each in explanations),
    ]
    for each in explanations:
        blocks += [
            f"## {each.contract}",
            f"**{each.promise}**",
            each.matters,
            f"```text\n{each.drawing}\n```",
        ]
        for title, points in _sections(each):
            blocks += [f"{title}:", "\n".join(f"- {point}" for point in points)]
    blocks += ["# Config keys", "What a drafter's config says, and who reads it."]
    for key in keys:
        blocks += [f"## {key.key}", key.meaning, "\n".join(f"- {line}" for line in _key_lines(key))]
    return "\n\n".join(blocks) + "\n"


def _plain_key(key: KeyExplanation, width: int) -> str:
    return f"{key.key}\n\n{_filled(key.meaning, width)}\n\n{_points(_key_lines(key), width)}\n"


def _key_lines(key: KeyExplanation) -> list[str]:
    lines = [f"read by: {reader}" for reader in key.readers]
    lines += [f"also: {name}" for name in key.other_names]
    return lines + ([f"contracts: {', '.join(key.contracts)}"] if key.contracts else [])


def _sections(explanation: Explanation) -> list[tuple[str, Sequence[str]]]:
    sections: list[tuple[str, Sequence[str]]] = [
        ("How engines break it", explanation.breaks),
        ("How to see it", explanation.see),
        ("How to repair it", explanation.repair),
    ]
    if explanation.keys:
        sections.append(("Config keys", (", ".join(explanation.keys),)))
    if explanation.seen_in:
        sections.append(("First seen in", (explanation.seen_in,)))
    return sections


def _points(points: Sequence[str], width: int) -> str:
    return "\n".join(
        textwrap.fill(
            point,
            width,
            initial_indent="  - ",
            subsequent_indent="    ",
            break_long_words=False,
            break_on_hyphens=False,
        )
        for point in points
    )


def _filled(text: str, width: int) -> str:
    return textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)
