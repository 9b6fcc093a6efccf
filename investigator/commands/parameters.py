"""Paths and times on a command line, where click's own types take what nobody means."""

import math
import os
from pathlib import Path
from typing import Any

import click


class UserPath(click.Path):
    """A :class:`click.Path` that is handed on as ``Path``, and never the empty text.

    An empty path is a variable that was not set: the current folder was not meant.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(path_type=Path, **options)

    def convert(
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        """The path. Raises click.BadParameter."""
        try:
            text = os.fsencode(value)
        except UnicodeEncodeError:
            text = b""
        if not text or b"\0" in text:
            self.fail(f"{str(value)!r} is no path; write . for the current folder.", param, ctx)
        return super().convert(value, param, ctx)


class Seconds(click.FloatRange):
    """A :class:`click.FloatRange` that takes no ``nan``, which lies in every range."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number. Raises click.BadParameter."""
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value!r} is not a number of seconds.", param, ctx)
        return number
