"""The connections below the transport: one httpx client, or two where pip trusts a host without TLS."""

import os
import ssl
import threading
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING
from urllib.parse import SplitResult

from investigator.errors import UsageError
from investigator.sources.web import NetworkPolicy

if TYPE_CHECKING:
    import httpx

USER_AGENT = "investigate (reads speculative-decoding engines; HTTP by httpx)"
MAX_CONNECTIONS = 8
"""Connections open at once, over all hosts and all agents of a run."""


class Pool:
    """The clients of one policy, made at the first request (httpx is slow to import)."""

    def __init__(self, policy: NetworkPolicy) -> None:
        self._policy = policy
        self._lock = threading.Lock()
        self._clients: dict[bool, httpx.Client] = {}

    def client(self, url: SplitResult) -> "httpx.Client":
        """The client to ask this URL with. Raises UsageError for certificates that cannot be used."""
        trusted = self._policy.insecure_hosts
        verify = not (url.hostname in trusted or url.netloc in trusted)
        with self._lock:
            if verify not in self._clients:
                self._clients[verify] = self._make(verify)
            return self._clients[verify]

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            for client in self._clients.values():
                client.close()
            self._clients.clear()

    def _make(self, verify: bool) -> "httpx.Client":
        import httpx

        policy = self._policy
        return httpx.Client(
            verify=tls_context(policy) if verify else False,
            proxy=policy.proxy,
            follow_redirects=False,
            headers={"User-Agent": USER_AGENT},
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            limits=httpx.Limits(max_connections=MAX_CONNECTIONS, keepalive_expiry=30),
        )


def tls_context(policy: NetworkPolicy) -> ssl.SSLContext:
    """Which certificates are believed: pip's bundle alone, or the system's and certifi's."""
    try:
        if policy.ca_bundle is not None:
            is_folder = os.path.isdir(policy.ca_bundle)
            context = ssl.create_default_context(
                cafile=None if is_folder else policy.ca_bundle,
                capath=policy.ca_bundle if is_folder else None,
            )
        else:
            import certifi

            context = ssl.create_default_context()
            context.load_verify_locations(certifi.where())
        if policy.client_cert is not None:
            context.load_cert_chain(policy.client_cert)
    except (OSError, ssl.SSLError) as error:
        raise UsageError(
            f"the certificates in {policy.client_cert or policy.ca_bundle} cannot be used: {error}",
            "pip's `cert` must name a CA bundle in PEM form",
        ) from error
    return context
