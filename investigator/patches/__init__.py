"""Repairs for an engine: made on its syntax tree, proven, applied and taken back.

``repairs``   one module per contract: finds its places, answers with edits or says why not
``series``    from findings to numbered patches with their proofs (:func:`generate`)
``edits``, ``pen``, ``diff``, ``letter``   from edits to the text of a patch
``git``, ``verify``   what is run to show that a patch holds
"""

from investigator.patches.repairs import REPAIRS, CannotRepair, Fault, repair
from investigator.patches.series import Combination, Refusal, Series, complete, generate, patch_bytes
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
    "complete",
    "generate",
    "patch_bytes",
    "repair",
]
