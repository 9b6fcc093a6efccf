"""Where a model's config comes from: the Hub, a local folder, the Hub's cache, or a snapshot.

The order for ``owner/name``: the Hub itself, unless the run is offline; else the copy that
huggingface_hub keeps on this machine; else the snapshot. Which one it was stands in the
source's ``origin``, and why it was not the Hub in ``notes``. A revision that was asked for is
never replaced by another.
"""

import re
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from investigator.case import RepoSpec
from investigator.errors import InvestigateError, LimitError, NotFoundError, OfflineError, SourceError
from investigator.sources.hub_model import (
    CONFIG,
    SHAPES,
    WEIGHTS,
    FetchedModel,
    HubModel,
    from_hub,
    from_path,
    from_snapshot,
)
from investigator.sources.snapshots import REVISION_PREFIX, Snapshots

__all__ = ["CONFIG", "SHAPES", "WEIGHTS", "FetchedModel", "HubClient", "HubModel", "HubSource", "with_advice"]

_COMMIT = re.compile(r"[0-9a-f]{40}")


class HubClient(Protocol):
    """Talks to the Hub; the real one is :class:`investigator.sources.hub_client.LiveHub`."""

    def fetch(self, repo: str, revision: str | None, *, shapes: bool = False) -> HubModel:
        """The repository as it is now, with its tensors' shapes if asked.

        Raises NotFoundError, SourceError or LimitError.
        """
        ...

    def cached(self, repo: str, revision: str | None) -> HubModel | None:
        """What is kept on this machine from an earlier fetch; opens no socket."""
        ...


class HubSource:
    """Fetches configs. ``client`` None: no Hub and no cache, only files and snapshots."""

    def __init__(
        self,
        *,
        offline: bool = False,
        client: HubClient | None = None,
        snapshots: Snapshots | None = None,
    ) -> None:
        self._offline = offline
        self._client = client
        self._snapshots = snapshots or Snapshots()

    def fetch(self, spec: RepoSpec, source_id: str, *, shapes: bool = False) -> FetchedModel:
        """The model that ``spec`` names; blocking. ``source_id`` is what evidence will carry.

        ``shapes``: read the header of the weights too, where the Hub serves it.

        Raises UsageError for a config that is not one, NotFoundError, OfflineError or
        SourceError when there is neither a live answer nor a stored one.
        """
        if spec.path is not None:
            return from_path(Path(spec.path), spec.id, source_id)
        if spec.revision is not None and spec.revision.startswith(REVISION_PREFIX):
            return self._pinned_snapshot(spec.id, spec.revision, source_id)
        if not shapes and _COMMIT.fullmatch(spec.revision or "") and (here := self._cached(spec)):
            return from_hub(here, spec, source_id)
        try:
            model = self._live(spec, shapes)
        except (SourceError, LimitError) as error:
            return self._kept(spec, source_id, error)
        return from_hub(model, spec, source_id, recorded=self._snapshots.hub(spec.id))

    def _cached(self, spec: RepoSpec) -> HubModel | None:
        return self._client.cached(spec.id, spec.revision) if self._client is not None else None

    def _live(self, spec: RepoSpec, shapes: bool) -> HubModel:
        if self._offline or self._client is None:
            raise OfflineError(
                f"{spec.id} would have to be fetched from the Hub, and this run is offline",
                "run it once without --offline, or use path:DIR with a config.json that you have",
            )
        return self._client.fetch(spec.id, spec.revision, shapes=shapes)

    def _kept(self, spec: RepoSpec, source_id: str, why: SourceError | LimitError) -> FetchedModel:
        """What this machine has of a repository that could not be fetched because of ``why``."""
        reason = "this run is offline" if isinstance(why, OfflineError) else str(why)
        snapshot = self._snapshots.hub(spec.id)
        if (here := self._cached(spec)) is not None:
            note = f"{reason}; the Hub's cache here was used"
            kept = from_hub(here, spec, source_id, recorded=snapshot, note=note)
            return replace(kept, not_live=with_advice(why))
        if snapshot is None:
            raise why
        if spec.revision not in (None, snapshot.revision):
            held = snapshot.revision or "a revision that was not recorded"
            raise SourceError(
                f"{why}; the snapshot of {snapshot.retrieved} is of {held}, not of {spec.revision}",
                f"{why.advice}; or name {spec.id} without a revision to take the snapshot",
            ) from why
        found = from_snapshot(snapshot, source_id, note=f"{reason}; the snapshot was used")
        return replace(found, not_live=with_advice(why))

    def _pinned_snapshot(self, repo: str, revision: str, source_id: str) -> FetchedModel:
        snapshot = self._snapshots.hub(repo)
        if snapshot is None:
            known = ", ".join(self._snapshots.hub_repos())
            raise NotFoundError(f"there is no snapshot of {repo}", f"there are snapshots of {known}")
        if revision != f"{REVISION_PREFIX}{snapshot.retrieved}":
            raise NotFoundError(
                f"there is no snapshot {revision} of {repo}",
                f"there is {REVISION_PREFIX}{snapshot.retrieved}",
            )
        return from_snapshot(snapshot, source_id, note="the snapshot was asked for")


def with_advice(error: InvestigateError) -> str:
    """An error and what to do about it, in one line."""
    return f"{error} ({error.advice})" if error.advice else str(error)
