"""``investigate explain``: what a contract or a config key means."""

import click

from investigator.errors import ExitCode


def _names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """For a shell's completion: every name that starts so."""
    from investigator.explain import BY_CONTRACT, BY_KEY

    return [name for name in (*BY_CONTRACT, *BY_KEY) if name.startswith(incomplete)]


@click.command("explain", short_help="What a contract or a config key means.")
@click.argument("name", metavar="[CONTRACT|KEY]", required=False, shell_complete=_names)
def command(name: str | None) -> int:
    """Tell what a contract or a config key means, how it fails, and what to do.

    Without a name, all of them are listed.

    \b
    Examples:
      investigate explain cache-drop
      investigate explain layer_types
    """
    from investigator.explain import explain
    from investigator.explain.text import plain

    click.echo(plain(explain(name)) if name else _listed(), nl=False)
    return ExitCode.CLEAN


def _listed() -> str:
    from investigator.explain import BY_KEY, EXPLANATIONS

    width = max(len(each.contract) for each in EXPLANATIONS)
    lines = ["Contracts:"]
    lines += [f"  {each.contract:<{width}}  {_first_clause(each.promise)}" for each in EXPLANATIONS]
    lines += ["", "Config keys:", *(f"  {key}" for key in BY_KEY)]
    return "\n".join(lines) + "\n"


def _first_clause(promise: str) -> str:
    """The promise as far as one line of a terminal takes it."""
    limit = 76
    if len(promise) <= limit:
        return promise
    return promise[: promise.rfind(" ", 0, limit)].rstrip(",;:") + " …"
