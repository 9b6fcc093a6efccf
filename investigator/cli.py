"""``investigate``: the commands, and what the process returns."""

import gc
import importlib
import importlib.util
import os
import signal
import sys
import threading
import traceback
from collections.abc import Sequence
from typing import NoReturn

import click
from click.shell_completion import CompletionItem

import investigator
from investigator.errors import EXIT_CODE_MEANINGS, ExitCode, InvestigateError
from investigator.reports.escape import visible

COMMANDS = (
    "run",
    "timeline",
    "triage",
    "apply",
    "revert",
    "overlay",
    "validate",
    "compare",
    "explain",
    "doctor",
    "snapshot",
)
DEFAULT = "run"

EXAMPLES = """\
\b
Examples:
  investigate
      vLLM 0.20.1 with z-lab/Qwen3.6-27B-DFlash
  investigate --engine vllm==0.33.0 --draft z-lab/Qwen3-8B-DFlash-b16
  investigate --engine path:./vllm --format sarif --out findings/
  investigate --engine installed --draft path:./my-drafter
  investigate explain cache-drop
"""


def exit_code_table() -> str:
    """The table of exit codes for ``--help``, made from the one in errors.py."""
    lines = [f"  {code.value:>3}  {meaning}" for code, meaning in EXIT_CODE_MEANINGS.items()]
    return "\b\nExit codes:\n" + "\n".join(lines)


class Commands(click.Group):
    """The commands whose module is there; without a command's name, ``run`` is meant."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for name in COMMANDS if importlib.util.find_spec(f"investigator.commands.{name}")]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        found = importlib.import_module(f"investigator.commands.{cmd_name}").command
        assert isinstance(found, click.Command), cmd_name
        return found

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        own = {option for parameter in self.get_params(ctx) for option in parameter.opts}
        completing = ctx.resilient_parsing and not args  # the word that is being completed is not among them
        if not completing and (not args or (args[0].startswith("-") and args[0] not in own)):
            args = [DEFAULT, *args]
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The commands; for an option those of ``run`` too, whose name may be left out."""
        found = super().shell_complete(ctx, incomplete)
        run = self.get_command(ctx, DEFAULT)
        if incomplete.startswith("-") and run is not None:
            found += run.shell_complete(click.Context(run, info_name=DEFAULT, parent=ctx), incomplete)
        return found


@click.command(
    cls=Commands,
    epilog=f"{EXAMPLES}\n\n{exit_code_table()}",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(investigator.__version__, "-V", "--version", prog_name="investigate")
def investigate() -> None:
    """Find out whether an inference engine keeps the promises a drafter was trained on.

    Four agents read four sources side by side: the engine, the drafter's checkpoint, the
    reference code, and pull requests. What differs is reported with its evidence and with
    patches that were proven. Without a command's name, run is meant; its options are in
    'investigate run --help'.
    """


GARBAGE = 20_000
"""How many more objects than were let go are made before the collector looks for garbage in cycles. What is
parsed stays until the end; at Python's own 700, looking through it took an eighth of a run."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """The console script. SIGTERM ends a command as SIGINT does: with what was found so far."""
    try:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        gc.set_threshold(GARBAGE)
        code = invoke(arguments)
    except KeyboardInterrupt:  # one that came before the command began, or while it was ending
        code = ExitCode.INTERRUPTED
    leave(code)


def invoke(arguments: Sequence[str] | None = None) -> int:
    """Run one command; errors become one clear message on standard error and a code."""
    try:
        result = investigate.main(args=arguments, prog_name="investigate", standalone_mode=False)
        return int(result or 0)
    except InvestigateError as error:
        _complain(str(error), error.advice)
        return error.exit_code
    except click.ClickException as error:
        error.show()
        return ExitCode.USAGE
    except (click.Abort, KeyboardInterrupt):
        _complain("interrupted")
        return ExitCode.INTERRUPTED
    except BrokenPipeError:  # the reader of a pipe has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.INTERRUPTED
    except Exception as error:
        traceback.print_exc()
        _complain(
            f"a defect in this program: {type(error).__name__}: {error}", "please report the lines above"
        )
        return ExitCode.INCOMPLETE


def leave(code: int) -> NoReturn:
    """End the process, without waiting for a read that was given up (deadline, interrupt).

    What is left to do takes no time: a signal changes nothing any more.
    """
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
    sys.stdout.flush()
    sys.stderr.flush()
    # An interrupt that fell into exec() of a text (a dataclass being made, during an import) is remembered
    # by Python: at its own end it would die of the signal, although the interrupt was caught.
    reading = (thread for thread in threading.enumerate() if thread is not threading.main_thread())
    if code == ExitCode.INTERRUPTED or any(not thread.daemon for thread in reading):
        os._exit(code)
    sys.exit(code)


def _complain(message: str, advice: str = "") -> None:
    click.echo(f"investigate: error: {visible(message)}", err=True)
    if advice:
        click.echo(f"  {visible(advice)}", err=True)
