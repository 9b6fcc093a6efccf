"""Options that several commands share, and the objects they make."""

import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from investigator.case import (
    DEFAULT_DRAFT,
    DEFAULT_ENGINE,
    DEFAULT_PULL_REQUESTS,
    DEFAULT_REFERENCES,
    Case,
    EngineSpec,
    RepoSpec,
)
from investigator.commands.parameters import UserPath
from investigator.errors import UsageError
from investigator.methods import METHODS, MTP
from investigator.settings import Settings, Verbosity

if TYPE_CHECKING:
    from rich.console import Console

F = TypeVar("F", bound=Callable[..., Any])

PIPED_WIDTH = 140
"""Columns of a table that goes to a file or a pipe, where COLUMNS does not say otherwise."""

_TALK = (
    click.option("-q", "--quiet", is_flag=True, help="Only errors on standard error."),
    click.option("--no-color", is_flag=True, help="No colour; so does NO_COLOR."),
)

_SETTINGS = (
    click.option(
        "--offline", is_flag=True, help="Open no connection: the cache, snapshots and local files only."
    ),
    click.option(
        "--cache-dir",
        type=UserPath(file_okay=False),
        envvar="INVESTIGATE_CACHE_DIR",
        show_envvar=True,
        help="Where fetched files are kept.  [default: the user's cache]",
    ),
    click.option(
        "--jobs", type=click.IntRange(1, 64), default=8, show_default=True, help="Blocking reads at once."
    ),
    click.option("-v", "--verbose", is_flag=True, help="Each event as a line, on standard error."),
    *_TALK,
)

method_option = click.option(
    "--method",
    type=click.Choice(list(METHODS)),
    help="The speculative method, where the drafter's config does not say it: mtp takes the model's own MTP"
    " layers for the drafter, and --draft may be left out.",
)
"""Every command that names a drafter has it."""

_CASE = (
    click.option(
        "--engine",
        default=DEFAULT_ENGINE,
        show_default=True,
        metavar="ENGINE",
        help="NAME==VERSION, NAME for its newest release, path:DIR, git:URL@REF, installed, or python:PATH.",
    ),
    click.option(
        "--draft",
        default=DEFAULT_DRAFT,
        show_default=True,
        metavar="REPO",
        help="The drafter: owner/name, owner/name@revision, or path:DIR.",
    ),
    click.option(
        "--target",
        metavar="REPO",
        help="The target model.  [default: the one the drafter names]",
    ),
    method_option,
    click.option(
        "--reference",
        "references",
        multiple=True,
        metavar="REF",
        help="Reference code, several times: NAME==VERSION, path:DIR, git:URL@REF, github:OWNER/NAME."
        f"  [default: {', '.join(DEFAULT_REFERENCES)}]",
    ),
    click.option(
        "--pull-request",
        "pull_requests",
        multiple=True,
        metavar="OWNER/REPO#N",
        help=f"A pull request to look at, several times.  [default: {', '.join(DEFAULT_PULL_REQUESTS)}]",
    ),
    click.option(
        "--block-size",
        type=click.IntRange(1, 4096),
        help="Tokens of a draft block, its anchor counted, when not the drafter's own.",
    ),
    click.option(
        "--env",
        "environment",
        multiple=True,
        metavar="NAME=VALUE",
        help="An engine's environment variable that the deployment sets, several times.",
    ),
    click.option(
        "--flag",
        "flags",
        multiple=True,
        metavar="NAME[=VALUE]",
        help="A flag of the engine's server that the deployment sets, several times: "
        "attention-backend=triton, no-enable-prefix-caching.",
    ),
)


def format_option(*formats: str) -> Callable[[F], F]:
    """Add ``--format``, the first being the default; the command gets ``format_``."""
    return click.option(
        "--format",
        "format_",
        type=click.Choice(formats),
        default=formats[0],
        show_default=True,
        help="What goes to standard output.",
    )


def settings_options(command: F) -> F:
    """Add the options that every command has; the command gets ``settings``."""

    @wraps(command)
    def with_settings(
        *,
        offline: bool,
        cache_dir: Path | None,
        jobs: int,
        verbose: bool,
        quiet: bool,
        no_color: bool,
        **rest: Any,
    ) -> Any:
        if verbose and quiet:
            raise UsageError("--verbose and --quiet exclude each other", "give one of them")
        settings = Settings(
            offline=offline,
            cache_dir=cache_dir,
            jobs=jobs,
            verbosity=Verbosity.VERBOSE if verbose else Verbosity.QUIET if quiet else Verbosity.NORMAL,
            color=_color(no_color=no_color),
        )
        return command(settings=settings, **rest)

    return _decorated(with_settings, _SETTINGS)  # type: ignore[return-value]


def talk_options(command: F) -> F:
    """Add only how a command talks, for one that fetches nothing; the command gets ``settings``."""

    @wraps(command)
    def with_settings(*, quiet: bool, no_color: bool, **rest: Any) -> Any:
        verbosity = Verbosity.QUIET if quiet else Verbosity.NORMAL
        return command(settings=Settings(verbosity=verbosity, color=_color(no_color=no_color)), **rest)

    return _decorated(with_settings, _TALK)  # type: ignore[return-value]


def case_options(command: F) -> F:
    """Add the options that name a case; the command gets ``case``."""

    @wraps(command)
    def with_case(
        *,
        engine: str,
        draft: str,
        target: str | None,
        method: str | None,
        references: tuple[str, ...],
        pull_requests: tuple[str, ...],
        block_size: int | None,
        environment: tuple[str, ...],
        flags: tuple[str, ...],
        **rest: Any,
    ) -> Any:
        case = Case(
            engine=EngineSpec.parse(engine),
            draft=drafter(draft, target, method),
            target=RepoSpec.parse(target) if target else None,
            method=method,
            # What is looked at by default is about drafters of whole blocks.
            references=references or (() if method == MTP.name else DEFAULT_REFERENCES),
            pull_requests=pull_requests or (() if method == MTP.name else DEFAULT_PULL_REQUESTS),
            block_size=block_size,
            environment=dict(assignment(text) for text in environment),
            flags=dict(server_flag(text) for text in flags),
        )
        return command(case=case, **rest)

    return _decorated(with_case, _CASE)  # type: ignore[return-value]


def drafter(draft: str, target: str | None, method: str | None) -> RepoSpec:
    """The drafter that the running command's options name: for ``--method mtp`` without ``--draft`` the
    target itself. Raises UsageError."""
    if method == MTP.name and given_options().isdisjoint({"draft", "drafts"}):
        if target is None:
            raise UsageError(
                "--method mtp names no model",
                "name the model that drafts for itself, with --draft",
            )
        return RepoSpec.parse(target)
    return RepoSpec.parse(draft)


def given_options() -> frozenset[str]:
    """The options of the running command that the user gave, by their parameters' names."""
    context = click.get_current_context()
    return frozenset(
        name for name in context.params if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    )


def consoles(settings: Settings) -> "tuple[Console, Console]":
    """Where data and where talk goes: standard output and standard error."""
    return console(settings), console(settings, stderr=True)


def console(settings: Settings, *, stderr: bool = False) -> "Console":
    """A rich console that reads no markup, emoji or highlighting into any text."""
    from rich.console import Console

    made = Console(
        stderr=stderr,
        no_color=settings.color is False or None,
        markup=False,
        emoji=False,
        highlight=False,
        quiet=stderr and settings.verbosity is Verbosity.QUIET,
    )
    if not made.is_terminal and not os.environ.get("COLUMNS"):
        made.width = PIPED_WIDTH
    return made


def _color(*, no_color: bool) -> bool | None:
    return False if no_color or os.environ.get("NO_COLOR") else None


def assignment(text: str, option: str = "--env") -> tuple[str, str]:
    """``NAME=VALUE``, as ``option`` takes it. Raises UsageError."""
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise UsageError(f"cannot read {option} {text!r}", "write NAME=VALUE")
    return name, value


def server_flag(text: str) -> tuple[str, str]:
    """``NAME`` or ``NAME=VALUE`` as ``--name`` and its value, with or without the dashes in front. Raises
    UsageError."""
    name, _, value = text.partition("=")
    name = name.strip().lstrip("-").replace("_", "-")
    if not name.replace("-", "_").replace(".", "_").isidentifier():
        raise UsageError(f"cannot read --flag {text!r}", "write NAME or NAME=VALUE, as the server takes it")
    return f"--{name}", value


def _decorated(command: Callable[..., Any], options: tuple[Callable[[Any], Any], ...]) -> Callable[..., Any]:
    for option in reversed(options):
        command = option(command)
    return command
