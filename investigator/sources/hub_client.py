"""The Hugging Face Hub itself, through huggingface_hub.

Three requests at most for a repository that is new here: its metadata (which pins the
commit), and a HEAD and a GET for each file; none for files that the library's cache holds at
that commit. The header of the weights is read by range, the weights never. The token comes
from ``HF_TOKEN`` alone and goes to the endpoint alone.
"""

import hashlib
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from investigator.checkpoints.strict_json import MAX_BYTES
from investigator.errors import (
    IntegrityError,
    InvestigateError,
    LimitError,
    NotFoundError,
    SourceError,
)
from investigator.model import Origin
from investigator.sources.hub import CONFIG, WEIGHTS, HubModel, HubSource
from investigator.sources.hub_errors import Busy, translate
from investigator.sources.hub_model import MAX_MODELING_FILES
from investigator.sources.hub_settings import HubSettings
from investigator.sources.reachable import Reachable
from investigator.sources.safetensors_header import read_header
from investigator.sources.transport import Credential, Transport

if TYPE_CHECKING:
    from huggingface_hub import HfApi, ModelInfo

T = TypeVar("T")

_HEX = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")

TRIES = 3
FIRST_WAIT = 0.5
LONGEST_WAIT = 20.0


class LiveHub:
    """Fetches from the Hub and looks into its cache on this machine.

    ``transport`` reads the weights' headers; without one, shapes stay unknown.
    """

    def __init__(
        self,
        settings: HubSettings,
        transport: Transport | None = None,
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._settings = settings
        self._transport = transport
        self._sleep = sleep
        self._server = Reachable(settings.endpoint, settings.connect_timeout, "the Hugging Face Hub")

    def fetch(self, repo: str, revision: str | None, *, shapes: bool = False) -> HubModel:
        """The repository as it is now, pinned to its commit.

        Raises NotFoundError, SourceError (unreachable, gated, rate-limited, not a Hub) or
        LimitError, each with what to do.
        """
        settings = self._settings
        if not settings.proxied:
            self._server.check()
        until = time.monotonic() + settings.seconds
        api = self._api()
        info = self._ask(partial(self._info, api, repo, revision), repo, revision, until)
        if not isinstance(info.sha, str) or not isinstance(info.id, str):
            raise SourceError(f"{settings.endpoint} does not answer like a Hub", "check HF_ENDPOINT")
        sizes = {item.rfilename: item.size for item in info.siblings or ()}
        if CONFIG not in sizes:
            raise NotFoundError(
                f"{info.id} has no {CONFIG} at {info.sha[:12]}", "name a model repository, not an adapter"
            )
        files = {}
        for name in (CONFIG, *_modeling_files(sizes)):
            if (sizes[name] or 0) > MAX_BYTES:
                raise LimitError(
                    f"{name} of {info.id} has {sizes[name]:,} bytes; at most {MAX_BYTES:,} are read",
                    "nothing of this kind should be so large; look at it by hand",
                )
            files[name] = self._ask(partial(self._download, info, name), repo, revision, until)
        card: Mapping[str, Any] = vars(info.card_data) if info.card_data else {}
        tensors, note = self._shapes(info) if shapes and WEIGHTS in sizes else (None, ())
        return HubModel(
            repo=info.id,
            revision=info.sha,
            files=files,
            origin=Origin.LIVE,
            gated=info.gated if isinstance(info.gated, str) else None,
            base_models=_strings(card.get("base_model")),
            card={
                key: ", ".join(_strings(card.get(key)))
                for key in ("license", "library_name")
                if card.get(key)
            },
            tensors=tensors,
            notes=note,
        )

    def cached(self, repo: str, revision: str | None) -> HubModel | None:
        """What the Hub's cache on this machine holds; opens no socket."""
        folder = self._settings.cache_dir
        if folder is None or not _commits(folder, repo):
            return None
        from huggingface_hub import try_to_load_from_cache

        found = try_to_load_from_cache(repo, CONFIG, cache_dir=folder, revision=revision or "main")
        if isinstance(found, str):
            snapshot = Path(found).parent
        elif revision is None and (commits := _commits(folder, repo)):
            snapshot = commits[-1]
        else:
            return None
        names = [CONFIG, *_modeling_files({item.name: None for item in snapshot.iterdir()})]
        files: dict[str, bytes] = {}
        for name in names:
            try:
                data = _read(snapshot / name)
            except (LimitError, OSError):
                data = None
            if data is None:
                return None
            files[name] = data
        return HubModel(repo=repo, revision=snapshot.name, files=files, origin=Origin.CACHE)

    def _api(self) -> "HfApi":
        # The library reads these when it is first imported.
        os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
        os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
        os.environ.setdefault("HF_HUB_DISABLE_XET", "1")
        from huggingface_hub import HfApi

        # False, not None: None would send a token that the library finds on disk.
        return HfApi(endpoint=self._settings.endpoint, token=self._settings.token or False)

    def _info(self, api: "HfApi", repo: str, revision: str | None) -> "ModelInfo":
        return api.model_info(
            repo, revision=revision, files_metadata=True, timeout=self._settings.read_timeout
        )

    def _download(self, info: "ModelInfo", name: str) -> bytes:
        from huggingface_hub import hf_hub_download

        with _writable(self._settings.cache_dir) as folder:
            for again in (False, True):
                path = hf_hub_download(
                    info.id,
                    name,
                    revision=info.sha,
                    endpoint=self._settings.endpoint,
                    token=self._settings.token or False,
                    cache_dir=folder,
                    etag_timeout=self._settings.read_timeout,
                    force_download=again,
                )
                if (data := _read(Path(path))) is not None:
                    return data
        raise IntegrityError(
            f"{name} of {info.id} is not what the Hub vouches for",
            "is something between here and the Hub changing files? try another network",
        )

    def _ask(self, call: Callable[[], T], repo: str, revision: str | None, until: float) -> T:
        """Call the library; wait and try again where the Hub says that it is busy."""
        wait = FIRST_WAIT
        for attempt in range(1, TRIES + 1):
            try:
                return call()
            except InvestigateError:
                raise
            except Exception as error:
                problem = translate(error, repo, revision, self._settings.endpoint)
                if problem is None:
                    raise
                if not isinstance(problem, Busy) or attempt == TRIES:
                    raise problem from error
                pause = problem.wait or wait
                if pause > LONGEST_WAIT or time.monotonic() + pause > until:
                    raise problem from error
            self._sleep(pause)
            wait *= 2
        raise AssertionError("the loop returns or raises")

    def _shapes(self, info: "ModelInfo") -> "tuple[Mapping[str, tuple[int, ...]] | None, tuple[str, ...]]":
        if self._transport is None:
            return None, ()
        from huggingface_hub import hf_hub_url

        settings = self._settings
        credential = Credential(settings.endpoint, f"Bearer {settings.token}") if settings.token else None
        url = hf_hub_url(info.id, WEIGHTS, revision=info.sha, endpoint=settings.endpoint)
        try:
            return read_header(self._transport, url, f"{WEIGHTS} of {info.id}", credential), ()
        except InvestigateError as error:
            return None, (f"the shapes of {info.id} were not read: {error}",)


@contextmanager
def _writable(cache: Path | None) -> Iterator[Path | None]:
    """The library's cache; a folder that is gone afterwards where that one cannot be written."""
    try:
        if cache is not None:
            cache.mkdir(parents=True, exist_ok=True)
        usable = cache is None or os.access(cache, os.W_OK)
    except OSError:
        usable = False
    if usable:
        yield cache
        return
    with tempfile.TemporaryDirectory(prefix="investigate-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def _modeling_files(sizes: Mapping[str, int | None]) -> list[str]:
    names = sorted(name for name in sizes if name.endswith(".py") and "/" not in name)
    return names[:MAX_MODELING_FILES]


def _commits(folder: Path, repo: str) -> list[Path]:
    """The commits of a repository whose config is in the cache, the newest last."""
    configs = (folder / f"models--{repo.replace('/', '--')}" / "snapshots").glob(f"*/{CONFIG}")
    return [config.parent for config in sorted(configs, key=lambda config: config.lstat().st_mtime)]


def _read(path: Path) -> bytes | None:
    """A file of the Hub's cache; None when it is not what its name says.

    The cache names a file's content after its hash: Git's, or sha256 for one in LFS.
    """
    if path.stat().st_size > MAX_BYTES:
        raise LimitError(
            f"{path.name} has {path.stat().st_size:,} bytes; at most {MAX_BYTES:,} are read",
            "remove it from the Hub's cache, or name a model repository",
        )
    data = path.read_bytes()
    name = path.resolve().name
    if _HEX.fullmatch(name) and name not in (git_blob_id(data), hashlib.sha256(data).hexdigest()):
        return None
    return data


def git_blob_id(data: bytes) -> str:
    """Git's name for a file's content, hex sha1."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def _strings(value: Any) -> tuple[str, ...]:
    """A card's field that may be one string or a list of them, each cut at 200 characters."""
    items = value if isinstance(value, list) else [value]
    return tuple(item[:200] for item in items if isinstance(item, str))[:20]


def hub_source(transport: Transport, environment: Mapping[str, str]) -> HubSource:
    """The usual way to configs: the Hub as the environment names it, its cache, the snapshots.

    Offline when the transport is, or when ``HF_HUB_OFFLINE`` says so. Raises UsageError.
    """
    asked_offline = environment.get("HF_HUB_OFFLINE", "").lower() in ("1", "true", "yes", "on")
    client = LiveHub(HubSettings.from_environment(environment), transport)
    return HubSource(offline=transport.offline or asked_offline, client=client)
