"""``investigate overlay``: a patched engine beside the installed one, which stays as it is."""

import os
from pathlib import Path

import click

from investigator.commands.options import consoles, talk_options
from investigator.commands.parameters import UserPath
from investigator.errors import ExitCode, UsageError
from investigator.reports.escape import visible
from investigator.settings import Settings

EXAMPLES = """\
\b
Examples:
  investigate overlay runs/2026-11-30-vllm --out repaired
  investigate overlay runs/2026-11-30-vllm --base python:/opt/vllm/bin/python --out repaired
  eval "$(investigate overlay runs/2026-11-30-vllm --out repaired -q)"
"""


@click.command("overlay", epilog=EXAMPLES, short_help="A patched engine beside the installed one.")
@click.argument("patches", nargs=-1, required=True, metavar="RUN|PATCH...", type=UserPath())
@click.option(
    "--base",
    "place",
    default="installed",
    show_default=True,
    metavar="WHERE",
    help="What is shadowed: installed (this environment), python:PATH, or DIR. It is only read.",
)
@click.option(
    "--out",
    required=True,
    type=UserPath(),
    metavar="DIR",
    help="The overlay; it must not exist yet.",
)
@click.option("--only", multiple=True, metavar="CONTRACT", help="Only its patch of the run, several times.")
@talk_options
def command(
    patches: tuple[Path, ...], settings: Settings, place: str, out: Path, only: tuple[str, ...]
) -> int:
    """Make a folder for PYTHONPATH that shadows the engine with a patched one.

    Standard output gets the line that switches it on, for a shell. The patched files are really
    there, everything else is a link to the installation, which is not touched. Exit code 4, and
    nothing is left, when a patch does not apply or the engine is not the one it was made for.
    """
    from investigator.commands.patching import choose, root_of
    from investigator.patches.overlay import build

    chosen = choose(patches, only)
    if out.exists():
        raise UsageError(f"{out} exists already", "name a folder that does not, or remove this one")
    folder = Path(os.path.abspath(out))
    made = build(
        root_of(place, chosen.package), chosen.package, chosen.patches, folder, version=chosen.version
    )
    data, talk = consoles(settings)
    names = ", ".join(patch.name for patch in chosen.patches)
    talk.print(visible(f"{made.package} of {made.installation} with {names}:"), soft_wrap=True)
    data.print(made.export, soft_wrap=True)
    if chosen.serve:
        talk.print("then, in the same shell:")
        talk.print(visible(chosen.serve), soft_wrap=True)
    return ExitCode.CLEAN
