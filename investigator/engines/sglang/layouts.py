"""Layouts of a drafter's config that the engine does not read at all.

A speculators file keeps the drafter's layers in an object of their own. An engine that takes such a file
either unfolds it where it loads configs or reads that object in its draft model; where neither names the
key, nothing of the drafter is read as it was meant.
"""

from investigator.code.syntax import field
from investigator.code.values import ClassValue
from investigator.engines.interface import Step, Told
from investigator.engines.sglang.world import Session
from investigator.model import Unsupported

LOADING = "sglang/srt/utils/hf_transformers/"
"""The package that makes a config of a file."""
KEYS = {"speculators": "transformer_layer_config"}
"""A layout -> the key that its drafter's layers stand under; any other has them at the top."""


def unread(session: Session, draft: ClassValue) -> Told | None:
    """``Unsupported`` where neither what loads configs nor the draft model reads the checkpoint's layout."""
    layout = session.world.checkpoint.layout
    key = KEYS.get(layout)
    program = session.interp.program
    loading = program.files_in(LOADING)
    if key is None or not loading or program.among([key], [*loading, draft.module.path]):
        return None
    step = Step(draft.module.place(field(draft.node, "name")), "reads the drafter's layers from the top")
    why = f"neither {draft.name} nor what loads configs reads {key}, where a {layout} file keeps its layers"
    return Told(outcome=Unsupported(why), steps=(step,), assumptions=session.world.assumptions)
