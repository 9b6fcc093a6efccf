"""MTP drafters: layers that predict the tokens after the next, in the shapes that they are published in.

=========== ============================================== ==========================================
layout      known by                                       layers
=========== ============================================== ==========================================
mtp-own     ``--method mtp``: the target's own checkpoint  ``num_nextn_predict_layers`` and kin
mtp         an architecture or ``model_type`` of MTP       the same
assistant   a ``model_type`` that ends in ``_assistant``   ``text_config.num_hidden_layers``
=========== ============================================== ==========================================

The first is the same file as the target's: only its user can say that it is meant as a drafter.
"""

from investigator.checkpoint import (
    MTP_ASSISTANT,
    MTP_COUNTS,
    MTP_HOLDERS,
    MTP_METHOD,
    MTP_OWN,
    MTP_SEPARATE,
    Checkpoint,
    ModelConfig,
)
from investigator.checkpoints.fields import MAX_LAYERS, Fields
from investigator.checkpoints.normalise import FULL, SLIDING
from investigator.errors import UsageError


def own_layers(fields: Fields) -> int | None:
    """How many MTP layers a model's config says that its checkpoint carries; None: it does not say."""
    for holder in (fields, *(fields.section(name) for name in MTP_HOLDERS)):
        for key in MTP_COUNTS:
            count = holder.integer(key, least=0, most=MAX_LAYERS)
            if count is not None:
                return count
    return None


def separate_layout(fields: Fields) -> str | None:
    """The layout of a config that is an MTP drafter's by its own word; None for any other."""
    kind = fields.values.get("model_type")
    kind = kind if isinstance(kind, str) else ""
    if kind.endswith("_assistant"):
        return MTP_ASSISTANT
    names = fields.strings("architectures") or ()
    if kind == "mtp" or kind.endswith("_mtp") or any("MTP" in n or n.endswith("NextN") for n in names):
        return MTP_SEPARATE
    return None


def read_mtp(
    layout: str, draft: ModelConfig, target: ModelConfig | None, target_layers: int | None
) -> Checkpoint:
    """The checkpoint of an MTP drafter. Raises UsageError for a config that contradicts itself."""
    fields = Fields(draft.normalised, f"config.json of {draft.repo}")
    text = fields.section("text_config")
    body = text if text.values else fields
    counted = own_layers(fields)
    if counted == 0 and layout == MTP_OWN:
        raise UsageError(
            f"{fields.name} says that its checkpoint carries no MTP layer", "leave --method mtp out"
        )
    layers = counted or 1
    if layout == MTP_ASSISTANT:
        layers = body.integer("num_hidden_layers", least=1, most=MAX_LAYERS) or layers
    types = _layer_types(layout, fields, body, layers)
    return Checkpoint(
        method=MTP_METHOD,
        layout=layout,
        draft=draft,
        target=target,
        num_draft_layers=layers,
        num_target_layers=target_layers,
        target_layer_ids=None,
        layer_types=types,
        windows=_windows(body, types, layers, complete=draft.complete),
        block_size=None,
        mask_token_id=None,
    )


def _layer_types(layout: str, fields: Fields, body: Fields, layers: int) -> tuple[str, ...] | None:
    """The kind of each MTP layer, where the config tells it apart from its target's layers."""
    types = body.strings("layer_types") if layout == MTP_ASSISTANT else None
    types = types or body.strings("mtp_layer_types") or fields.strings("mtp_layer_types")
    return types if types is not None and len(types) == layers else None


def _windows(
    body: Fields, types: tuple[str, ...] | None, layers: int, *, complete: bool
) -> tuple[int | None, ...] | None:
    """Each MTP layer's window; None where the config does not tell: a target with windows does not
    say whether its MTP layers have one."""
    if types is not None and set(types) <= {FULL, SLIDING}:
        window = body.integer("sliding_window", least=1)
        return tuple(window if kind == SLIDING else None for kind in types)
    return (None,) * layers if _knows_no_window(body, complete=complete) else None


def _knows_no_window(body: Fields, *, complete: bool) -> bool:
    """Whether no layer of a model slides, by its config."""
    types = body.strings("layer_types")
    if types is not None:
        return not any("sliding" in kind or "chunked" in kind for kind in types)
    if not complete or body.values.get("use_sliding_window") is False:
        return complete
    words = ("sliding", "swa", "chunk", "hybrid_layer_pattern")
    return not any(value and any(word in key for word in words) for key, value in body.values.items())
