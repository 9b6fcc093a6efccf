"""What a drafter and its target say about themselves: configs as the engine gets them."""

from collections.abc import Mapping
from dataclasses import dataclass

from investigator.model import Json

MTP_METHOD = "mtp"
MTP_OWN, MTP_SEPARATE, MTP_ASSISTANT = "mtp-own", "mtp", "assistant"
"""The layouts of MTP drafters: layers of the target's own checkpoint, such layers by themselves, and a
small model that runs beside its target."""
MTP_COUNTS = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules", "num_mtp_layers")
"""Keys that say how many MTP layers a checkpoint has, as the families call them."""
MTP_HOLDERS = ("text_config", "mtp_config")
"""Nested objects that may hold keys about MTP instead of the top level."""


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
        """The base of the rotary angles, in either layout; None where the config gives none, or one for
        each type of layer."""
        if self.rope_by_layer_type:
            return None
        for values in self._texts():
            nested = values.get("rope_parameters")
            found = nested.get("rope_theta") if isinstance(nested, Mapping) else None
            found = found if found is not None else values.get("rope_theta")
            if found is not None:
                return found
        return None

    @property
    def rope_by_layer_type(self) -> bool:
        """Whether ``rope_parameters`` holds settings for each type of layer, not for all."""
        nested = (values.get("rope_parameters") for values in self._texts())
        return any(
            isinstance(v, Mapping) for given in nested if isinstance(given, Mapping) for v in given.values()
        )

    def _texts(self) -> tuple[Mapping[str, Json], ...]:
        text = self.normalised.get("text_config")
        return (self.normalised, text) if isinstance(text, Mapping) else (self.normalised,)


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """A drafter and the target it was trained for.

    ``method``: ``dflash``, ``eagle3``, ... as vLLM's ``--speculative-config`` names it.
    ``layout``: ``z-lab``, ``speculators``, ``mimo``, ...: which keys hold what; ``mtp-own``: the
    target's own checkpoint is the drafter's, too.
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
    def draft_tokens(self) -> int | None:
        """Draft tokens a step: the block without its anchor; of an MTP drafter whose user names no
        number, one for each of its layers. None where nothing says."""
        if self.block_size is not None:
            return self.block_size - 1
        if self.method != MTP_METHOD:
            return None
        return 1 if self.layout == MTP_ASSISTANT else self.num_draft_layers

    @property
    def counts_mtp_layers(self) -> bool:
        """Whether the config says how many MTP layers the checkpoint has; an assistant's always does."""
        if self.layout == MTP_ASSISTANT:
            return True
        raw = self.draft.raw
        holders = (raw, *(raw.get(name) for name in MTP_HOLDERS))
        return any(h.get(key) is not None for h in holders if isinstance(h, Mapping) for key in MTP_COUNTS)
