"""A user as containers make them: a number without a name and without a home folder."""

import os
import pwd

import pytest


def without_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the home folder from this process, as far as Python can find it."""

    def nobody(uid: int) -> pwd.struct_passwd:
        raise KeyError(f"getpwuid(): uid not found: {uid}")

    for name in [name for name in os.environ if name == "HOME" or name.startswith("XDG_")]:
        if name != "XDG_CONFIG_DIRS":
            monkeypatch.delenv(name)
    monkeypatch.setattr(pwd, "getpwuid", nobody)
