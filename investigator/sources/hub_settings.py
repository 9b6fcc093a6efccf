"""How to reach the Hub, from the environment."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from investigator.errors import UsageError
from investigator.sources.reachable import is_proxied
from investigator.sources.web import is_secure

DEFAULT_ENDPOINT = "https://huggingface.co"


@dataclass(frozen=True, kw_only=True)
class HubSettings:
    """How to reach the Hub. Times in seconds; ``seconds`` bounds one repository's fetch."""

    endpoint: str = DEFAULT_ENDPOINT
    token: str | None = None
    cache_dir: Path | None = None
    connect_timeout: float = 3.0
    read_timeout: float = 10.0
    seconds: float = 90.0
    proxied: bool = False

    def __repr__(self) -> str:
        """Everything but the token."""
        return f"HubSettings(endpoint={self.endpoint!r}, token={'set' if self.token else 'not set'})"

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "HubSettings":
        """``HF_ENDPOINT``, ``HF_TOKEN``, ``HF_HUB_CACHE`` or ``HF_HOME``. Raises UsageError."""
        endpoint = environment.get("HF_ENDPOINT", "").rstrip("/") or DEFAULT_ENDPOINT
        if not is_secure(endpoint):
            raise UsageError(
                "HF_ENDPOINT is not an address that a token may be sent to",
                "set it to https://HOST (plain http only for this machine or a private address)",
            )
        home = Path(environment.get("HF_HOME") or os.path.join("~", ".cache", "huggingface"))
        return cls(
            endpoint=endpoint,
            token=environment.get("HF_TOKEN") or None,
            cache_dir=Path(os.path.expanduser(environment.get("HF_HUB_CACHE") or home / "hub")),
            proxied=is_proxied(environment),
        )
