"""What each contract and each config key means, for people: texts and nothing else.

explain("cache-drop")       -> Explanation
explain("layer_types")      -> KeyExplanation
"""

from investigator.errors import UsageError
from investigator.explain import (
    cache_drop,
    config_coverage,
    embedding_scale,
    feature_width,
    head_sharing,
    in_block_causality,
    kv_retention,
    layer_types,
    lookahead,
    mask_token,
    norm_epsilon,
    rope,
    silent_default,
    target_capture,
    target_layer_offset,
    vocab_mapping,
)
from investigator.explain.explanation import Explanation, KeyExplanation
from investigator.explain.keys import BY_KEY

EXPLANATIONS: tuple[Explanation, ...] = tuple(
    module.EXPLANATION
    for module in (
        target_layer_offset,
        layer_types,
        cache_drop,
        in_block_causality,
        kv_retention,
        lookahead,
        config_coverage,
        silent_default,
        target_capture,
        feature_width,
        mask_token,
        vocab_mapping,
        embedding_scale,
        head_sharing,
        norm_epsilon,
        rope,
    )
)
"""In the order in which reports name the contracts."""

BY_CONTRACT: dict[str, Explanation] = {explanation.contract: explanation for explanation in EXPLANATIONS}


def explain(name: str) -> Explanation | KeyExplanation:
    """The text for a contract's id or a config key (the last part of a dotted one will do).

    Raises UsageError that names the nearest ones.
    """
    wanted = name.strip()
    if (contract := BY_CONTRACT.get(wanted.lower().replace("_", "-"))) is not None and wanted not in BY_KEY:
        return contract
    if (key := BY_KEY.get(wanted) or BY_KEY.get(wanted.rsplit(".", 1)[-1])) is not None:
        return key
    raise UsageError(f"there is no contract and no config key {wanted!r}", _advice(wanted))


def _advice(wanted: str) -> str:
    from difflib import get_close_matches

    names = [*BY_CONTRACT, *BY_KEY]
    near = get_close_matches(wanted.lower(), names, n=3, cutoff=0.5)
    return f"near: {', '.join(near)}" if near else "'investigate explain' lists them all"


__all__ = ["BY_CONTRACT", "BY_KEY", "EXPLANATIONS", "Explanation", "KeyExplanation", "explain"]
