"""pip's settings are read where pip reads them, in pip's order."""

import os
import sys
from pathlib import Path

import pytest

from investigator.errors import UsageError
from investigator.sources.pip_settings import PipSettings, config_files, read_pip_settings
from tests.support.homeless import without_home

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="lays out pip's folders as on Linux")


class Machine:
    """A machine whose pip files are all below one folder."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = root
        self.monkeypatch = monkeypatch
        for name in list(os.environ):
            if name.startswith("PIP_") or name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
                monkeypatch.delenv(name)
        monkeypatch.setenv("HOME", str(root / "home"))
        monkeypatch.setenv("XDG_CONFIG_DIRS", str(root / "xdg"))
        monkeypatch.setenv("XDG_CONFIG_HOME", str(root / "home/.config"))
        monkeypatch.setattr(sys, "prefix", str(root / "venv"))
        self._hide_etc()

    def _hide_etc(self) -> None:
        real = Path.is_file
        below = str(self.root)
        self.monkeypatch.setattr(Path, "is_file", lambda path: str(path).startswith(below) and real(path))

    def write(self, path: str, text: str) -> Path:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        return target


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, monkeypatch)


def test_a_machine_with_nothing_set(machine: Machine) -> None:
    assert read_pip_settings() == PipSettings()


def test_every_setting_that_matters(machine: Machine) -> None:
    machine.write(
        "xdg/pip/pip.conf",
        """
[global]
index-url = https://mirror.invalid/simple
extra-index-url =
    file:///wheels/simple
    https://user:secret@more.invalid/simple
find-links = /wheels /more-wheels
cert = /etc/ca.pem
client_cert = /etc/me.pem
trusted-host = mirror.invalid
    other.invalid:8443
proxy = http://proxy.invalid:3128
no-index = no
""",
    )

    assert read_pip_settings() == PipSettings(
        index_url="https://mirror.invalid/simple",
        extra_index_urls=("file:///wheels/simple", "https://user:secret@more.invalid/simple"),
        find_links=("/wheels", "/more-wheels"),
        cert="/etc/ca.pem",
        client_cert="/etc/me.pem",
        trusted_hosts=("mirror.invalid", "other.invalid:8443"),
        proxy="http://proxy.invalid:3128",
    )


def test_later_files_win(machine: Machine) -> None:
    order = ["xdg/pip/pip.conf", "home/.pip/pip.conf", "home/.config/pip/pip.conf", "venv/pip.conf"]
    for path in order:
        machine.write(path, f"[global]\nindex-url = https://{path.replace('/', '-')}.invalid\n")
        expected = f"https://{path.replace('/', '-')}.invalid"
        assert read_pip_settings().index_url == expected


def test_the_install_section_wins_over_global(machine: Machine) -> None:
    machine.write(
        "venv/pip.conf",
        "[install]\nindex-url = https://install.invalid\n[global]\nindex-url = https://g.invalid\n",
    )

    assert read_pip_settings().index_url == "https://install.invalid"


def test_the_environment_wins_over_files(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.write("venv/pip.conf", "[global]\nindex-url = https://file.invalid\nfind-links = /a\n")
    monkeypatch.setenv("PIP_INDEX_URL", "https://env.invalid")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "https://one.invalid https://two.invalid")
    monkeypatch.setenv("PIP_CERT", "/env/ca.pem")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", "")

    settings = read_pip_settings()

    assert settings.index_url == "https://env.invalid"
    assert settings.extra_index_urls == ("https://one.invalid", "https://two.invalid")
    assert settings.cert == "/env/ca.pem"
    assert settings.no_index
    assert settings.find_links == ("/a",)  # an empty variable counts as not set, as with pip


def test_a_config_file_named_in_the_environment_replaces_the_users(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.write("xdg/pip/pip.conf", "[global]\nindex-url = https://global.invalid\nfind-links = /global\n")
    machine.write("home/.config/pip/pip.conf", "[global]\nindex-url = https://u.invalid\ncert = /user.pem\n")
    named = machine.write("named.conf", "[global]\nindex-url = https://named.invalid\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(named))

    settings = read_pip_settings()

    assert settings.index_url == "https://named.invalid"
    assert settings.find_links == ("/global",)
    assert settings.cert is None


def test_no_file_at_all_is_read_when_pip_is_told_so(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.write("venv/pip.conf", "[global]\nindex-url = https://file.invalid\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)

    assert config_files() == []
    assert read_pip_settings().index_url is None


def test_the_bundle_that_pip_takes_from_requests(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/requests.pem")

    assert read_pip_settings().cert == "/requests.pem"


@pytest.mark.parametrize("text", ["index-url = x\n", "[global\n", "[global]\nindex-url = x\nindex-url = y\n"])
def test_a_broken_file_is_named(machine: Machine, text: str) -> None:
    path = machine.write("venv/pip.conf", text)

    with pytest.raises(UsageError, match="cannot be read") as error:
        read_pip_settings()

    assert str(path) in str(error.value)
    assert "PIP_CONFIG_FILE" in error.value.advice


def test_a_user_without_a_home_has_the_machines_settings(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.write("xdg/pip/pip.conf", "[global]\nindex-url = https://mirror.invalid/simple\n")
    without_home(monkeypatch)

    assert read_pip_settings().index_url == "https://mirror.invalid/simple"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("index-url", "https://user:secret@[mirror/simple"),
        ("extra-index-url", "https://good.invalid/simple https://user:secret@mirror:99999/simple"),
        ("find-links", "/wheels https://user:secret@mirror:port/wheels"),
    ],
)
def test_an_address_that_is_none_is_named_without_its_password(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(f"PIP_{name.upper().replace('-', '_')}", value)

    with pytest.raises(UsageError, match=f"pip's {name} names '.*mirror.*', which is no address") as caught:
        read_pip_settings()

    assert "secret" not in str(caught.value)
