"""What a drafter and its target say about themselves: configs as the engine gets them."""

from collections.abc import Mapping
from dataclasses import dataclass

from investigator.model import Json


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """One ``config.json``.

    ``raw`` is the file as parsed; ``normalised`` is what Hugging Face's config class hands
    to an engine (keys filled in or rewritten, ``rewrites`` says which and why).
    ``complete`` is False for a snapshot that holds only some of the file's keys: a key that
    is missing from such a config is unknown, not absent. ``tensors``: each weight's shape,
    from the safetensors header; None when it was not read.
    """

    repo: str
    revision: str
    source: str
    raw: Mapping[str, Json]
    normalised: Mapping[str, Json]
    complete: bool = True
    rewrites: tuple[str, ...] = ()
    tensors: Mapping[str, tuple[int, ...]] | None = None

    @property
    def rope_theta(self) -> Json:
        """The base of the rotary angles, in either layout; None where the config gives none."""
        nested = self.normalised.get("rope_parameters")
        found = nested.get("rope_theta") if isinstance(nested, Mapping) else None
        return found if found is not None else self.normalised.get("rope_theta")


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """A drafter and the target it was trained for.

    ``method``: ``dflash``, ``eagle3``, ... as vLLM's ``--speculative-config`` names it.
    ``layout``: ``z-lab``, ``speculators``, ``mimo``, ...: which keys hold what.
    ``target_layer_ids``: ids as *decoder layers counted from 0* (``k`` = output of decoder
    layer ``k``), whatever convention the file uses; None when the file names none.
    ``layer_types`` / ``windows``: one entry per draft layer; a window is in tokens, None
    for full attention.
    """

    method: str
    layout: str
    draft: ModelConfig
    target: ModelConfig | None
    num_draft_layers: int
    num_target_layers: int | None
    target_layer_ids: tuple[int, ...] | None
    layer_types: tuple[str, ...] | None
    windows: tuple[int | None, ...] | None
    block_size: int | None
    mask_token_id: int | None

    @property
    def mixed_attention(self) -> bool:
        """Whether some draft layers slide and others attend to everything."""
        return self.windows is not None and len({w is None for w in self.windows}) == 2
