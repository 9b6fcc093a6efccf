"""``investigate apply``: put proven patches on an installation or a checkout."""

import shlex
from pathlib import Path

import click

from investigator.commands.options import consoles, talk_options
from investigator.commands.parameters import UserPath
from investigator.errors import ExitCode
from investigator.reports.escape import visible
from investigator.settings import Settings

EXAMPLES = """\
\b
Examples:
  investigate apply runs/2026-11-30-vllm --to installed
  investigate apply runs/2026-11-30-vllm --to python:/opt/vllm/bin/python --only cache-drop
  investigate apply 0001-cache-drop.patch 0002-lookahead.patch --to ./vllm
"""


@click.command("apply", epilog=EXAMPLES, short_help="Put patches on an engine, with a way back.")
@click.argument("patches", nargs=-1, required=True, metavar="RUN|PATCH...", type=UserPath())
@click.option(
    "--to",
    "place",
    required=True,
    metavar="WHERE",
    help="DIR (a checkout, a site-packages folder), installed (this environment), or python:PATH.",
)
@click.option("--only", multiple=True, metavar="CONTRACT", help="Only its patch of the run, several times.")
@talk_options
def command(patches: tuple[Path, ...], settings: Settings, place: str, only: tuple[str, ...]) -> int:
    """Put patches on an engine: everything or nothing, after a check that it is the right one.

    The version has to be the one that the patches were made for, and each file is compared by
    its hash. A receipt and the originals stay in the engine's folder, under .investigate: what
    'investigate revert' needs. Exit code 4, and nothing is changed, when a patch does not apply
    or the engine is another one.
    """
    from investigator.commands.patching import choose, root_of
    from investigator.patches.apply import apply

    chosen = choose(patches, only)
    done = apply(root_of(place, chosen.package), chosen.package, chosen.patches, version=chosen.version)
    data, talk = consoles(settings)
    for kept in done.receipt.files:
        if kept.after is not None:
            data.print(visible(kept.path), soft_wrap=True)
    for note in done.notes:
        talk.print(visible(f"note: {note}"), soft_wrap=True)
    talk.print(visible(f"patched with {', '.join(done.receipt.patches)}"), soft_wrap=True)
    talk.print(visible(f"to take it back: investigate revert --from {shlex.quote(place)}"), soft_wrap=True)
    return ExitCode.CLEAN
