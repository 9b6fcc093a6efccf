"""How a case is spelt, and what is not taken."""

import pytest

from investigator.case import Case, EngineKind, EngineSpec, RepoSpec
from investigator.errors import UsageError


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("vllm==0.20.1", EngineKind.RELEASE, "0.20.1"),
        ("vllm", EngineKind.NEWEST, ""),
        ("path:./vllm", EngineKind.PATH, "./vllm"),
        ("git:https://host.invalid/owner/name@v1", EngineKind.GIT, "https://host.invalid/owner/name@v1"),
        ("python:/usr/bin/python3", EngineKind.PYTHON, "/usr/bin/python3"),
        ("installed", EngineKind.INSTALLED, ""),
    ],
)
def test_the_spellings_of_an_engine(text: str, kind: EngineKind, value: str) -> None:
    spec = EngineSpec.parse(text)

    assert (spec.kind, spec.value, str(spec)) == (kind, value, text)


@pytest.mark.parametrize(
    "address", ["git:https://user:canary@host.invalid/a", "git:https://canary@host.invalid/a@v1"]
)
def test_a_password_in_an_address_is_refused_and_not_shown(address: str) -> None:
    with pytest.raises(UsageError, match="a user name or a password") as engine:
        EngineSpec.parse(address)
    with pytest.raises(UsageError, match="a user name or a password") as reference:
        Case(EngineSpec.parse("installed"), RepoSpec.parse("a/b"), references=(address,))

    for error in (engine.value, reference.value):
        assert "canary" not in f"{error} {error.advice}"
