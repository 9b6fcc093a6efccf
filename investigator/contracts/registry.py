"""Every contract, in the order in which reports name them. Adding one is a file and a line."""

from investigator.contracts import cache_drop, layer_types, lookahead, target_layer_offset
from investigator.contracts.contract import Contract

CONTRACTS: tuple[Contract, ...] = (
    target_layer_offset.CONTRACT,
    layer_types.CONTRACT,
    cache_drop.CONTRACT,
    lookahead.CONTRACT,
)


BY_ID: dict[str, Contract] = {contract.id: contract for contract in CONTRACTS}
