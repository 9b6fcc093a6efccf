"""From a drafter's and a target's config to one Checkpoint, whatever layout the file has.

============== ============================================ ==================================
layout         known by                                     ids of target layers
============== ============================================ ==================================
z-lab          ``dflash_config``, top-level ``block_size``  ``dflash_config.target_layer_ids``
z-lab-nested   ``dflash_config.block_size``                 the same
dflash2        architecture ``DFlash2DraftModel``           the same
mimo           ``dflash_config.use_swa`` or its window      the same
speculators    ``speculators_model_type``                   ``aux_hidden_state_layer_ids`` − 1
eagle3         ``eagle_config`` or an EAGLE-3 architecture  ``eagle_aux_...`` − 1
mtp, ...       :mod:`investigator.checkpoints.mtp`          none: the target's last hidden state
============== ============================================ ==================================

Two conventions number the same layers. z-lab's ``k`` means the output of decoder layer
``k``. EAGLE's ``n`` means the residual stream after ``n`` layers, which is the output of
decoder layer ``n − 1``; its 0 is the embedding output and is kept as ``-1``.
"""

from collections.abc import Mapping

from investigator.checkpoint import MTP_METHOD, MTP_OWN, Checkpoint, ModelConfig
from investigator.checkpoints import mtp
from investigator.checkpoints.fields import MAX_LAYERS, Fields
from investigator.checkpoints.normalise import FULL, SLIDING, normalise
from investigator.errors import UsageError
from investigator.model import Json

_EAGLE_IDS = "eagle_aux_hidden_state_layer_ids"
_SPECULATORS_IDS = "aux_hidden_state_layer_ids"
_ZLAB_IDS = "target_layer_ids"
ALWAYS_FULL = ("llama",)
"""Model types whose layers attend to everything: their config class knows no windows."""


def model_config(
    raw: Mapping[str, Json],
    *,
    repo: str,
    revision: str,
    source: str,
    complete: bool = True,
    tensors: Mapping[str, tuple[int, ...]] | None = None,
) -> ModelConfig:
    """Wrap one parsed ``config.json``, normalised as Hugging Face's class would.

    The nested ``transformer_layer_config`` of a speculators file and a target's
    ``text_config`` are normalised in their places. Raises UsageError.
    """
    top = normalise(raw, complete=complete)
    values, rewrites = dict(top.values), list(top.rewrites)
    for key in ("transformer_layer_config", "text_config"):
        if key in raw:
            inner = normalise(Fields(raw, repo).section(key).values, complete=complete)
            values[key] = inner.values
            rewrites += [f"{key}: {rewrite}" for rewrite in inner.rewrites]
    return ModelConfig(
        repo=repo,
        revision=revision,
        source=source,
        raw=raw,
        normalised=values,
        complete=complete,
        rewrites=tuple(rewrites),
        tensors=tensors,
    )


def read_checkpoint(
    draft: ModelConfig, target: ModelConfig | None = None, *, method: str | None = None
) -> Checkpoint:
    """What this drafter asks of its target and of the engine.

    ``method``: as its user names it, None for what the config itself says. ``mtp`` takes any model
    for a drafter of its own; of a drafter's config it must be the config's.

    Raises UsageError for a config that is none of the known layouts, is of another method or
    contradicts itself, LimitError for numbers no real model has.
    """
    fields = Fields(draft.normalised, f"config.json of {draft.repo}")
    layout, found = _layout(fields, method)
    if method not in (None, found):
        raise UsageError(
            f"{fields.name} is the config of a drafter of method {found}, not {method}",
            "leave --method out, or name another drafter with --draft",
        )
    if found == MTP_METHOD and layout != "speculators":
        return mtp.read_mtp(layout, draft, target, target_layers(target))
    body = fields.section("transformer_layer_config") if layout == "speculators" else fields
    dflash = fields.section("dflash_config")

    num_draft_layers = body.integer("num_hidden_layers", least=1, most=MAX_LAYERS)
    if num_draft_layers is None:
        raise body.bad("num_hidden_layers", "is missing: how many layers the drafter has is not known")
    num_target_layers = fields.integer("num_target_layers", least=1, most=MAX_LAYERS)
    if num_target_layers is None:
        num_target_layers = target_layers(target)

    layer_types = _layer_types(body, dflash, num_draft_layers)
    return Checkpoint(
        method=found,
        layout=layout,
        draft=draft,
        target=target,
        num_draft_layers=num_draft_layers,
        num_target_layers=num_target_layers,
        target_layer_ids=_target_layer_ids(layout, fields, num_target_layers),
        layer_types=layer_types,
        windows=_windows(body, dflash, layer_types, num_draft_layers, complete=draft.complete),
        block_size=_either(dflash, fields, "block_size", least=1),
        mask_token_id=_either(dflash, fields, "mask_token_id", least=0),
    )


def target_layers(target: ModelConfig | None) -> int | None:
    """How many decoder layers the target has, from its own config. Raises UsageError."""
    if target is None:
        return None
    fields = Fields(target.normalised, f"config.json of {target.repo}")
    text = fields.section("text_config")
    holder = text if "num_hidden_layers" in text else fields
    return holder.integer("num_hidden_layers", least=1, most=MAX_LAYERS)


def _layout(fields: Fields, asked: str | None) -> tuple[str, str]:
    """Which layout this is, and the method an engine is told; ``asked``: the one its user names."""
    kind = fields.values.get("speculators_model_type")
    if isinstance(kind, str):
        return "speculators", "dflash" if kind == "dflash2" else kind
    architectures = fields.strings("architectures") or ()
    dflash = fields.section("dflash_config")
    if "dflash_config" in fields or any("DFlash" in name for name in architectures):
        if any(name.startswith("DFlash2") for name in architectures):
            return "dflash2", "dflash"
        if "use_swa" in dflash or "swa_window_size" in dflash:
            return "mimo", "dflash"
        return ("z-lab-nested" if "block_size" in dflash else "z-lab"), "dflash"
    if "eagle_config" in fields or _EAGLE_IDS in fields or any("Eagle3" in name for name in architectures):
        return "eagle3", "eagle3"
    if (separate := mtp.separate_layout(fields)) is not None:
        return separate, MTP_METHOD
    if asked == MTP_METHOD:
        return MTP_OWN, MTP_METHOD
    named = ", ".join(name[:60] for name in architectures[:3]) or "none named"
    advice = (
        "it looks for dflash_config, speculators_model_type, an EAGLE-3 head or an MTP architecture; "
        "if this is the target model, name it with --target"
    )
    if layers := mtp.own_layers(fields):
        what = "an MTP layer" if layers == 1 else f"{layers} MTP layers"
        advice += f"; it carries {what} of its own: to investigate those, add --method {MTP_METHOD}"
    raise UsageError(
        f"{fields.name} is not a drafter's config this program knows (architectures: {named})", advice
    )


def _target_layer_ids(layout: str, fields: Fields, layers: int | None) -> tuple[int, ...] | None:
    """The file's ids as decoder layers counted from 0."""
    if layout == "speculators":
        key = _SPECULATORS_IDS if _SPECULATORS_IDS in fields else _EAGLE_IDS
        return _eagle_numbered(fields, key, layers)
    if layout == "eagle3":
        holder = fields if _EAGLE_IDS in fields else fields.section("eagle_config")
        return _eagle_numbered(holder, _EAGLE_IDS, layers)
    dflash = fields.section("dflash_config")
    holder = dflash if _ZLAB_IDS in dflash else fields
    ids = holder.layer_ids(_ZLAB_IDS)
    if ids is not None and layers is not None:
        holder.within(_ZLAB_IDS, ids, layers - 1, layers)
    return ids


def _eagle_numbered(fields: Fields, key: str, layers: int | None) -> tuple[int, ...] | None:
    ids = fields.layer_ids(key)
    if ids is None:
        return None
    if layers is not None:
        fields.within(key, ids, layers, layers)
    return tuple(n - 1 for n in ids)


def _layer_types(body: Fields, dflash: Fields, layers: int) -> tuple[str, ...] | None:
    """The kind of each draft layer.

    MiMo's ``use_swa`` makes every layer slide unless ``layer_types`` names sliding layers
    itself: what stands there may only be what Hugging Face's class filled in.
    """
    types = body.strings("layer_types")
    if types is not None and len(types) != layers:
        raise body.bad("layer_types", f"has {len(types)} entries for {layers} layers")
    for index, kind in enumerate(types or ()):
        if kind not in (FULL, SLIDING):
            wrong = f"holds {kind[:40]!r} at position {index}; a draft layer is {FULL} or {SLIDING}"
            raise body.bad("layer_types", wrong)
    if dflash.flag("use_swa") and SLIDING not in (types or ()):
        return (SLIDING,) * layers
    return types


def _windows(
    body: Fields, dflash: Fields, types: tuple[str, ...] | None, layers: int, *, complete: bool
) -> tuple[int | None, ...] | None:
    """Each draft layer's window in tokens, None for full attention; None when not known.

    A window of ``dflash_config.swa_window_size`` goes before the top-level one. A sliding
    layer without any window attends to everything, as in the reference.
    """
    if types is None:
        return (None,) * layers if body.values.get("model_type") in ALWAYS_FULL else None
    window = _either(dflash, body, "swa_window_size", least=1)
    if window is None:
        window = body.integer("sliding_window", least=1)
        decided = complete or {"sliding_window", "use_sliding_window"} <= body.values.keys()
        if SLIDING in types and not decided:
            return None  # whether this window counts stands in a key that was not seen
    return tuple(window if kind == SLIDING else None for kind in types)


def _either(first: Fields, second: Fields, key: str, *, least: int) -> int | None:
    """``key`` of the nested object, else of the top level: the order of the reference."""
    value = first.integer(key, least=least)
    return value if value is not None else second.integer(key, least=least)
