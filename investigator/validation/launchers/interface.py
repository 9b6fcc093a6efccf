"""What a launcher is, and how a place is named on the command line."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol
from urllib.parse import parse_qs, urlsplit

from investigator.errors import UsageError

Say = Callable[[str], None]
"""Takes one line of progress."""


class Where(StrEnum):
    """The kinds of place."""

    LOCAL = "local"
    CPU = "cpu"
    CPU_ENGINE = "cpu-engine"
    SSH = "ssh"
    SLURM = "slurm"
    RAY = "ray"


@dataclass(frozen=True, kw_only=True)
class Destination:
    """``--on``. ``host`` is what ssh is given (``user@host``), or Ray's address (``host:port``).

    ``python`` is the interpreter there that imports the engine; ``options`` go to the scheduler.
    """

    where: Where
    host: str = ""
    port: int | None = None
    python: str | None = None
    options: tuple[tuple[str, str], ...] = ()

    @classmethod
    def parse(cls, text: str) -> "Destination":
        """``local``, ``cpu``, ``cpu-engine``, ``ssh://user@host[:port][?python=PATH]``,
        ``slurm[://PARTITION][?gres=gpu:1]``, ``ray://host:port``. Raises UsageError."""
        unreadable = UsageError(
            f"cannot read --on {text!r}",
            "write local, cpu, cpu-engine, ssh://user@host, slurm, or ray://host:port",
        )
        name, _, rest = text.partition("://")
        if name not in set(Where):
            raise unreadable
        where = Where(name)
        try:
            parts = urlsplit(f"any://{rest}")
            port = parts.port
        except ValueError:
            raise unreadable from None
        query = {key: values[-1] for key, values in parse_qs(parts.query).items()}
        host = parts.netloc if where is not Where.SSH else parts.netloc.rpartition(":")[0] or parts.netloc
        if port is None:
            host = parts.netloc
        if where in (Where.SSH, Where.RAY) and (not host or host.startswith("-")):
            raise unreadable
        if where in (Where.LOCAL, Where.CPU, Where.CPU_ENGINE) and rest:
            raise unreadable
        python = query.pop("python", None)
        return cls(where=where, host=host, port=port, python=python, options=tuple(query.items()))


class Launcher(Protocol):
    """Gets the experiment in ``folder`` executed and its results back into it."""

    def run(self, folder: Path, names: Sequence[str], say: Say) -> None:
        """Blocking. ``names`` are the variants. A variant that fails is a result and raises nothing;
        raises IncompleteError when the place cannot be used at all."""
        ...
