"""pip's own settings for where packages come from, read as pip reads them.

Order, later wins: global files, the user's files (unless ``PIP_CONFIG_FILE`` is there), the
environment's own file (``sys.prefix``), ``PIP_CONFIG_FILE``, then ``PIP_*`` variables. Sections
``global`` and then ``install`` count. pip itself need not be installed.
"""

import configparser
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from investigator.errors import UsageError
from investigator.sources.web import parts_of


@dataclass(frozen=True, kw_only=True)
class PipSettings:
    """The settings that decide which index is asked, and how it is reached.

    URLs may hold passwords, so they are not in the ``repr``.
    ``index_url`` None means: none is set, use the client library's default.
    ``cert``: a CA bundle; ``client_cert``: a PEM file with key and certificate;
    ``trusted_hosts``: hosts (``host`` or ``host:port``) whose TLS is not verified.
    """

    index_url: str | None = field(default=None, repr=False)
    extra_index_urls: tuple[str, ...] = field(default=(), repr=False)
    find_links: tuple[str, ...] = ()
    no_index: bool = False
    cert: str | None = None
    client_cert: str | None = None
    trusted_hosts: tuple[str, ...] = ()
    proxy: str | None = field(default=None, repr=False)


def read_pip_settings() -> PipSettings:
    """pip's settings on this machine, for this user.

    Raises UsageError for a broken file and for an address that is none.
    """
    values: dict[str, str] = {}
    for path in config_files():
        values.update(_from_file(path))
    values.update(_from_environment())
    ca_bundle = values.get("cert") or os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("CURL_CA_BUNDLE")
    return PipSettings(
        index_url=next(iter(_addresses(values, "index-url")), None),
        extra_index_urls=_addresses(values, "extra-index-url"),
        find_links=_addresses(values, "find-links"),
        no_index=values.get("no-index", "").strip().lower() in ("1", "true", "yes", "on", "y", "t"),
        cert=ca_bundle or None,
        client_cert=values.get("client-cert") or None,
        trusted_hosts=tuple(values.get("trusted-host", "").split()),
        proxy=values.get("proxy") or None,
    )


def _addresses(values: Mapping[str, str], name: str) -> tuple[str, ...]:
    addresses = tuple(values.get(name, "").split())
    for address in addresses:
        if parts_of(address) is None:
            raise UsageError(
                f"pip's {name} names {address.rpartition('@')[2]!r}, which is no address",
                "mend it where 'pip config debug' shows that it is set",
            )
    return addresses


def config_files() -> list[Path]:
    """The configuration files that pip would read, weakest first; they need not exist."""
    import platformdirs

    name = "pip.ini" if sys.platform == "win32" else "pip.conf"
    override = os.environ.get("PIP_CONFIG_FILE")
    if override == os.devnull:
        return []
    if sys.platform == "darwin":
        folders = [platformdirs.site_data_dir("pip", appauthor=False)]
    else:
        folders = platformdirs.site_config_dir("pip", appauthor=False, multipath=True).split(os.pathsep)
        folders += [] if sys.platform == "win32" else ["/etc"]
    if not (override and os.path.exists(override)):
        folders.append(os.path.expanduser("~/pip" if sys.platform == "win32" else "~/.pip"))
        with suppress(RuntimeError):  # a user without a home folder has no settings of its own
            folders.append(platformdirs.user_config_dir("pip", appauthor=False, roaming=True))
    folders.append(sys.prefix)
    folders = [folder for folder in folders if os.path.isabs(folder)]  # not "~/.pip" of nobody's home
    return [Path(folder) / name for folder in folders] + ([Path(override)] if override else [])


def _from_file(path: Path) -> dict[str, str]:
    parser = configparser.RawConfigParser()
    try:
        if not path.is_file():
            return {}
        parser.read_string(path.read_text(encoding="utf-8"), source=str(path))
    except PermissionError:
        return {}
    except (OSError, UnicodeDecodeError, configparser.Error) as error:
        reason = str(error).splitlines()[0]
        raise UsageError(
            f"pip's settings in {path} cannot be read: {reason}",
            "mend that file (`pip config list` shows the same error), or set PIP_CONFIG_FILE to another one",
        ) from error
    values: dict[str, str] = {}
    for section in ("global", "install"):
        if parser.has_section(section):
            values.update((_normal(key), value) for key, value in parser.items(section))
    return values


def _from_environment() -> dict[str, str]:
    return {
        _normal(key.removeprefix("PIP_")): value
        for key, value in os.environ.items()
        if key.startswith("PIP_") and value and key != "PIP_CONFIG_FILE"
    }


def _normal(key: str) -> str:
    return key.lower().replace("_", "-").removeprefix("--")
