"""What Hugging Face's config classes do to a ``config.json`` before an engine sees it.

An engine never reads the file: it reads the object that ``transformers`` built from it, and
that class fills in and rewrites keys. For the drafters here the class is ``Qwen3Config``
(``model_type: qwen3``): with ``use_sliding_window`` false, which is its default, it sets
``sliding_window`` to None whatever the file says; when ``layer_types`` is missing it makes
layer ``i`` sliding if there is a window and ``i >= max_window_layers``.

Source: ``transformers/models/qwen3/configuration_qwen3.py``, 4.57 and 5.x.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from investigator.model import Json

FULL = "full_attention"
SLIDING = "sliding_attention"

_WINDOWED_DEFAULTS: dict[str, Json] = {
    "use_sliding_window": False,
    "sliding_window": 4096,
    "max_window_layers": 28,
    "layer_types": None,
}

CLASS_DEFAULTS: Mapping[str, Mapping[str, Json]] = {
    "qwen3": {
        "vocab_size": 151936,
        "hidden_size": 4096,
        "intermediate_size": 22016,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 32,
        "head_dim": 128,
        "hidden_act": "silu",
        "max_position_embeddings": 32768,
        "initializer_range": 0.02,
        "rms_norm_eps": 1e-6,
        "use_cache": True,
        "tie_word_embeddings": False,
        "attention_bias": False,
        "attention_dropout": 0.0,
        **_WINDOWED_DEFAULTS,
    },
    "llama": {
        "vocab_size": 32000,
        "hidden_size": 4096,
        "intermediate_size": 11008,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "hidden_act": "silu",
        "max_position_embeddings": 2048,
        "initializer_range": 0.02,
        "rms_norm_eps": 1e-6,
        "use_cache": True,
        "tie_word_embeddings": False,
        "attention_bias": False,
        "attention_dropout": 0.0,
        "mlp_bias": False,
        "pretraining_tp": 1,
    },
}
"""Config class, by ``model_type``, -> the values it uses for keys that the file leaves out.

``rope_theta`` is not among them: it may stand in a dictionary (:func:`_fill_rope_theta`).
"""

ROPE_THETA = 10_000.0
"""The base of the rotary angles of every class named above, where the file gives none."""


@dataclass(frozen=True)
class Normalised:
    """The keys as an engine gets them, and in words what was rewritten."""

    values: Mapping[str, Json]
    rewrites: tuple[str, ...] = ()


def normalise(raw: Mapping[str, Json], *, complete: bool = True) -> Normalised:
    """Do to ``raw`` what its Hugging Face config class does.

    With ``complete`` False a key that is missing may stand in the real file: then nothing
    that would rest on its absence is filled in or rewritten. Classes that are not known
    here leave the keys as they are. Never raises; shapes are checked by the reader.
    """
    defaults = CLASS_DEFAULTS.get(str(raw.get("model_type")))
    if defaults is None:
        return Normalised(dict(raw))
    values = dict(raw)
    rewrites: list[str] = []
    if complete:
        filled = {key: value for key, value in defaults.items() if key not in values}
        values.update(filled)
        if shown := sorted(filled.keys() & {"use_sliding_window", "num_hidden_layers", "head_dim"}):
            listed = ", ".join(f"{key}={filled[key]!r}" for key in shown)
            rewrites.append(f"keys the file leaves out get the class's defaults: {listed}")
        rewrites += _fill_rope_theta(values)
    rewrites += _drop_unused_window(raw, values)
    rewrites += _fill_layer_types(values)
    return Normalised(values, tuple(rewrites))


def _fill_rope_theta(values: dict[str, Json]) -> list[str]:
    """The base that the class takes where the file leaves it out: the one that stands with the scaling,
    else its own. One for each type of layer is none for all, and is left alone."""
    flat, parameters, scaling = (values.get(k) for k in ("rope_theta", "rope_parameters", "rope_scaling"))
    given = parameters if isinstance(parameters, Mapping) else scaling
    if isinstance(given, Mapping) and any(isinstance(value, Mapping) for value in given.values()):
        return []
    theta = given.get("rope_theta") if isinstance(given, Mapping) else None
    if isinstance(parameters, Mapping):
        if theta is not None:
            return []
        values["rope_parameters"] = {**parameters, "rope_theta": ROPE_THETA if flat is None else flat}
    elif flat is None:
        values["rope_theta"] = ROPE_THETA if theta is None else theta
    taken = flat is None and theta is None
    return [f"rope_theta is filled in with the class's default: {ROPE_THETA}"] if taken else []


def _drop_unused_window(raw: Mapping[str, Json], values: dict[str, Json]) -> list[str]:
    """``use_sliding_window`` false nulls the window."""
    if "use_sliding_window" not in values or values["use_sliding_window"]:
        return []
    before = values.get("sliding_window")
    values["sliding_window"] = None
    if raw.get("sliding_window") is None:
        return []
    cause = "is false" if "use_sliding_window" in raw else "is missing and defaults to false"
    return [f"sliding_window {before!r} becomes null: use_sliding_window {cause}"]


def _fill_layer_types(values: dict[str, Json]) -> list[str]:
    """``max_window_layers`` decides the types when the file gives none."""
    if values.get("layer_types", 0) is not None:
        return []  # given, or missing from a file of which only a part was seen
    layers, first = values.get("num_hidden_layers"), values.get("max_window_layers")
    if not isinstance(layers, int) or not isinstance(first, int) or "sliding_window" not in values:
        return []
    if layers > 10_000:
        return []  # the reader refuses it; do not build the list first
    windowed = values["sliding_window"] is not None
    types = [SLIDING if windowed and i >= first else FULL for i in range(layers)]
    values["layer_types"] = types
    why = f"layers from max_window_layers={first} on slide" if windowed else "there is no window"
    return [f"layer_types is filled in with {types.count(SLIDING)} sliding of {layers}: {why}"]
