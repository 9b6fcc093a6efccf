"""How an engine is repaired, one module per contract.

A repair looks at the engine's syntax tree, finds its places by the role they play, and answers
with edits, or says why it cannot and what to do instead. It holds no text of a release, asks
for no version, and changes nothing that the contract does not need. Whether its edits repair
anything is not its to say: :mod:`investigator.patches` asks the questions again.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from investigator.code.program import Program
from investigator.methods import MTP
from investigator.patches.edits import Edits
from investigator.patches.pen import Unfit
from investigator.patches.repairs import (
    cache_drop,
    in_block_causality,
    layer_types,
    lookahead,
    rope,
    target_layer_offset,
)
from investigator.patches.repairs.fault import CannotRepair, Fault

__all__ = ["REPAIRS", "CannotRepair", "Fault", "Repair", "repair"]


@dataclass(frozen=True, kw_only=True)
class Repair:
    """How one contract is repaired. ``subject`` heads the patch; ``change`` says what it does."""

    contract: str
    subject: str
    change: str
    edit: Callable[[Program, Fault], Edits]


REPAIRS: Mapping[str, Repair] = MappingProxyType(
    {
        module.CONTRACT: Repair(
            contract=module.CONTRACT, subject=module.SUBJECT, change=module.CHANGE, edit=module.edit
        )
        for module in (target_layer_offset, layer_types, cache_drop, lookahead, in_block_causality, rope)
    }
)
"""In the order in which their patches are numbered."""


def repair(program: Program, fault: Fault) -> Edits | CannotRepair:
    """Edits that repair this fault; none when the code already does what they would make it do."""
    known = REPAIRS.get(fault.contract)
    if known is None:
        return CannotRepair("no repair is known for this contract", fault.instead())
    if fault.checkpoint.method == MTP.name:
        return CannotRepair("the repairs known here are for drafters of whole blocks", fault.instead())
    try:
        return known.edit(program, fault)
    except Unfit as error:
        return CannotRepair(str(error), error.instead or fault.instead())
    except SyntaxError as error:
        return CannotRepair(f"the code could not be parsed there: {error}", fault.instead())
