"""Which attention backend the draft runs on, as far as the deployment and the draft worker's list say.

A backend's kernels are not followed: each is taken to obey the window and the kind of attention that a
layer is given, and the answer names the backends for which that is taken.
"""

import re

from tree_sitter import Node

from investigator.code.syntax import descendants, field, named, text
from investigator.engines.sglang.world import BACKEND_FLAGS, Session

LISTS = (
    "sglang/srt/speculative/dflash_worker.py",
    "sglang/srt/speculative/dflash_worker_v2.py",
    "sglang/srt/speculative/draft_worker_common.py",
    "sglang/srt/arg_groups/speculative_hook.py",
    "sglang/srt/arg_groups/choices.py",
)
"""Where a release lists the backends that a draft worker takes."""
_LIST = re.compile("draft.*backend", re.IGNORECASE)
_ON_CUDA = ("flashinfer", "triton")
"""Names that every such list holds."""
OBEYS = "taken to obey the window and the kind of attention that a layer is given"


def condition(session: Session) -> str:
    """The backends for which an answer about the draft's attention holds, in one clause."""
    deployment = session.world.deployment
    asked = next((deployment[flag] for flag in BACKEND_FLAGS if deployment.get(flag)), None)
    taken = accepted(session)
    if asked is None:
        which = f"any of {', '.join(taken)}" if taken else "any attention backend"
        return f"with {which}, each {OBEYS}"
    if taken and asked not in taken:
        return (
            f"with the backend that the draft worker falls back to, since it does not take {asked}, {OBEYS}"
        )
    return f"with {asked}, {OBEYS}"


def accepted(session: Session) -> tuple[str, ...]:
    """The attention backends that the draft worker takes, as its list names them; none where no list is
    found."""
    for module in session.interp.program.among([f'"{name}"' for name in _ON_CUDA], LISTS):
        for node in descendants(module.file.root, "assignment"):
            right = node.child_by_field_name("right")
            if right is None or not _LIST.search(text(field(node, "left"))):
                continue
            found = _strings(right)
            if set(_ON_CUDA) <= set(found):
                return found
    return ()


def _strings(node: Node) -> tuple[str, ...]:
    if node.type not in ("tuple", "list"):
        return ()
    return tuple(text(item).strip("\"'") for item in named(node) if item.type == "string")
