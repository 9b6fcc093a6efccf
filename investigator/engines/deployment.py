"""What a deployment sets, as an engine's answers take it: variables by name, server flags by ``--name``.

Both travel in one mapping, since both choose the path that code takes; a flag that is only switched on
has the value "". An engine names the flags that its answers follow (``EngineKnown.flags``); one that it
does not name is refused, so that no answer holds for a deployment that it was not asked about.
"""

from collections.abc import Iterable, Mapping

from investigator.errors import UsageError

Deployment = Mapping[str, str]
MARK = "--"
NEGATED = "--no-"
_FALSE = ("false", "0", "no")


def variables(deployment: Deployment) -> dict[str, str]:
    """The environment variables among the settings."""
    return {name: value for name, value in deployment.items() if not name.startswith(MARK)}


def flags(deployment: Deployment) -> dict[str, str]:
    """The server flags among the settings."""
    return {name: value for name, value in deployment.items() if name.startswith(MARK)}


def switched(deployment: Deployment, flag: str) -> bool | None:
    """Whether a switch is on; None where the deployment does not set it. ``--no-name`` is its off."""
    if flag in deployment:
        return deployment[flag].lower() not in _FALSE
    return False if flag.replace(MARK, NEGATED, 1) in deployment else None


def followed(deployment: Deployment, names: Iterable[str]) -> dict[str, str]:
    """The settings with only those flags that these names take in."""
    known = set(names)
    return {name: value for name, value in deployment.items() if _plain(name) in known or name[:2] != MARK}


def refuse_unknown(engine: str, deployment: Deployment, names: Iterable[str]) -> None:
    """Raises UsageError for a flag that none of the engine's answers follows."""
    known = sorted(names)
    for name in flags(deployment):
        if _plain(name) not in known:
            follows = f"its answers follow {', '.join(known)}" if known else "its answers follow no flag"
            raise UsageError(f"no answer about {engine} follows {name}", f"leave it out: {follows}")


def _plain(name: str) -> str:
    """A flag without the ``no-`` that turns a switch off."""
    return name.replace(NEGATED, MARK, 1)
