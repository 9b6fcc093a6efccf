"""Repairs for an engine: made on its syntax tree, proven, applied and taken back.

``repairs``   one module per contract: finds its places, answers with edits or says why not
``series``    from findings to numbered patches with their proofs (:func:`generate`)
``edits``, ``pen``, ``diff``, ``letter``   from edits to the text of a patch
``git``, ``verify``, ``combination``   what is run to show that patches hold, alone and together
``plan``, ``apply``, ``revert``, ``overlay``   onto an engine on a disk, off again, or beside it
``settings``   flags that avoid a fault where no patch is needed
"""

from investigator.patches.combination import Combination, patch_bytes
from investigator.patches.repairs import REPAIRS, CannotRepair, Fault, repair
from investigator.patches.series import Refusal, Series, generate
from investigator.patches.verify import Ask, Question, Verdicts

__all__ = [
    "REPAIRS",
    "Ask",
    "CannotRepair",
    "Combination",
    "Fault",
    "Question",
    "Refusal",
    "Series",
    "Verdicts",
    "generate",
    "patch_bytes",
    "repair",
]
