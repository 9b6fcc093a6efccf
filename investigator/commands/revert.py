"""``investigate revert``: take patches back, byte for byte."""

import click

from investigator.commands.options import consoles, talk_options
from investigator.errors import ExitCode
from investigator.reports.escape import visible
from investigator.settings import Settings

EXAMPLES = """\
\b
Examples:
  investigate revert --from installed
  investigate revert --from python:/opt/vllm/bin/python
  investigate revert --from ./vllm
"""


@click.command("revert", epilog=EXAMPLES, short_help="Take back what apply did.")
@click.option(
    "--from",
    "place",
    required=True,
    metavar="WHERE",
    help="DIR, installed or python:PATH, as it was given to 'investigate apply --to'.",
)
@talk_options
def command(settings: Settings, place: str) -> int:
    """Take back what 'investigate apply' did, from the receipt that it left.

    Goes on from an interrupted apply or revert, too. Exit code 4, and nothing is changed, when
    nothing is patched there, or the engine was reinstalled or a patched file edited since.
    """
    from investigator.commands.patching import patched_in
    from investigator.patches.revert import revert

    root, package = patched_in(place)
    receipt = revert(root, package)
    data, talk = consoles(settings)
    for kept in receipt.files:
        if kept.after is not None:
            data.print(visible(kept.path), soft_wrap=True)
    talk.print(visible(f"taken back: {', '.join(receipt.patches)}"), soft_wrap=True)
    return ExitCode.CLEAN
