"""docs/cli.md is the help of every command, as it is now."""

import os
from pathlib import Path

import click

from investigator import cli

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
HEAD = """\
# Command line

Made from the program's own help; see [CONTRIBUTING.md](../CONTRIBUTING.md) for how to make it anew.
"""


def generated() -> str:
    top = click.Context(cli.investigate, info_name="investigate", **cli.investigate.context_settings)
    parts = [HEAD, section("investigate", cli.investigate, None)]
    for name in cli.investigate.list_commands(top):
        parts.append(section(f"investigate {name}", cli.investigate.get_command(top, name), top))
    return "\n".join(parts)


def section(title: str, command: click.Command, parent: click.Context | None) -> str:
    settings = {**cli.investigate.context_settings, "terminal_width": 90, "max_content_width": 90}
    context = click.Context(command, info_name=title.split()[-1], parent=parent, **settings)
    return f"## {title}\n\n```\n{command.get_help(context)}\n```\n"


def test_the_page_is_what_the_program_says():
    if os.environ.get("UPDATE_DOCS"):
        PAGE.write_text(generated(), encoding="utf-8")

    assert PAGE.read_text(encoding="utf-8") == generated(), "UPDATE_DOCS=1 writes it anew"
