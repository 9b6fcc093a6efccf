"""How to reach GitHub, from the environment."""

from collections.abc import Mapping
from dataclasses import dataclass

from investigator.errors import UsageError
from investigator.sources.reachable import is_proxied
from investigator.sources.web import is_secure

DEFAULT_API = "https://api.github.com"


@dataclass(frozen=True, kw_only=True)
class GitHubSettings:
    """Times in seconds; ``seconds`` bounds all requests for one pull request, waits included."""

    api_url: str = DEFAULT_API
    token: str | None = None
    connect_timeout: float = 3.0
    read_timeout: int = 15
    seconds: float = 120.0
    proxied: bool = False

    def __repr__(self) -> str:
        """Everything but the token."""
        return f"GitHubSettings(api_url={self.api_url!r}, token={'set' if self.token else 'not set'})"

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "GitHubSettings":
        """``GITHUB_API_URL``, and ``GITHUB_TOKEN`` or ``GH_TOKEN``. Raises UsageError."""
        api_url = environment.get("GITHUB_API_URL", "").rstrip("/") or DEFAULT_API
        if not is_secure(api_url):
            raise UsageError(
                "GITHUB_API_URL is not an address that a token may be sent to",
                "set it to https://HOST/api/v3 (plain http only for this machine or a private address)",
            )
        return cls(
            api_url=api_url,
            token=environment.get("GITHUB_TOKEN") or environment.get("GH_TOKEN") or None,
            proxied=is_proxied(environment),
        )
