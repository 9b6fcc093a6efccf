"""Every contract, in the order in which reports name them. Adding one is a file and a line."""

from investigator.contracts import (
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
from investigator.contracts.contract import Contract

CONTRACTS: tuple[Contract, ...] = (
    target_layer_offset.CONTRACT,
    layer_types.CONTRACT,
    cache_drop.CONTRACT,
    in_block_causality.CONTRACT,
    kv_retention.CONTRACT,
    lookahead.CONTRACT,
    config_coverage.CONTRACT,
    silent_default.CONTRACT,
    target_capture.CONTRACT,
    feature_width.CONTRACT,
    mask_token.CONTRACT,
    vocab_mapping.CONTRACT,
    embedding_scale.CONTRACT,
    head_sharing.CONTRACT,
    norm_epsilon.CONTRACT,
    rope.CONTRACT,
)


BY_ID: dict[str, Contract] = {contract.id: contract for contract in CONTRACTS}
