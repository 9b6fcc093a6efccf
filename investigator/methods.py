"""Speculative methods, each a small description: which keys hold what, and how ids are counted.

Agents, contracts and engines ask for the description; none of them knows a method by heart.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from investigator.checkpoint import MTP_COUNTS, MTP_METHOD, Checkpoint
from investigator.model import Json


@dataclass(frozen=True, kw_only=True)
class Method:
    """One speculative method.

    ``id_keys``: dotted keys that may hold the ids of target layers, the one that counts first.
    ``boundary``: ids count the layers a stream has been through (``n`` = after ``n`` layers);
    otherwise they name decoder layers from 0 (``k`` = the output of layer ``k``).
    ``reads_next``: its K/V at a position is made of the next token, too.
    ``one_pass``: a block is drafted in one pass. ``reference``: whether training code can be
    asked; else the checkpoint's own config is the only promise.
    """

    name: str
    id_keys: tuple[str, ...]
    boundary: bool = False
    one_pass: bool = False
    reads_next: bool = False
    reference: bool = True
    keys: tuple[str, ...] = ()
    """Keys that decide how the drafter runs: an engine that does not read one that is set runs
    another drafter."""

    def holding_ids(self, checkpoint: Checkpoint) -> tuple[str, ...]:
        """The key that holds this checkpoint's ids; empty when none does."""
        return tuple(key for key in self.id_keys if _at(checkpoint.draft.raw, key) is not None)[:1]


DFLASH = Method(
    name="dflash",
    id_keys=("dflash_config.target_layer_ids", "target_layer_ids"),
    one_pass=True,
)
EAGLE3 = Method(
    name="eagle3",
    id_keys=("eagle_config.eagle_aux_hidden_state_layer_ids", "eagle_aux_hidden_state_layer_ids"),
    boundary=True,
    reads_next=True,
    reference=False,
    keys=(
        "eagle_aux_hidden_state_layer_ids",
        "use_aux_hidden_state",
        "norm_before_fc",
        "norm_before_residual",
        "fc_norm",
        "draft_vocab_size",
        "target_hidden_size",
    ),
)
MTP = Method(
    name=MTP_METHOD,
    id_keys=(),
    reads_next=True,
    reference=False,
    keys=(*MTP_COUNTS, "mtp_use_dedicated_embeddings"),
)
TAKES_LAST = "an MTP drafter takes its target's last hidden state and names no layers"
"""Why a promise about tapped layers is none of such a drafter's."""


def _at(values: Mapping[str, Json], dotted: str) -> Json:
    first, _, rest = dotted.partition(".")
    found = values.get(first)
    if not rest:
        return found
    return _at(found, rest) if isinstance(found, Mapping) else None


METHODS: Mapping[str, Method] = {
    method.name: method
    for method in (
        DFLASH,
        EAGLE3,
        replace(DFLASH, name="dspark"),
        Method(name="eagle", id_keys=(), reads_next=True, reference=False),
        MTP,
    )
}
SECTIONS = ("dflash_config", "eagle_config")
"""Nested objects of a draft config that hold a method's own keys."""
SPECULATORS_KEYS = ("aux_hidden_state_layer_ids", "eagle_aux_hidden_state_layer_ids")
"""Keys that hold the ids in a speculators file, whatever the method: they count as EAGLE's do."""


def described(checkpoint: Checkpoint) -> Method:
    """The description of a checkpoint's method, by the layout of its file.

    A method that is not known is described by its name alone: nothing is promised but its keys.
    """
    method = METHODS.get(checkpoint.method) or Method(name=checkpoint.method, id_keys=(), reference=False)
    if checkpoint.layout == "speculators":
        return replace(method, id_keys=SPECULATORS_KEYS, boundary=True)
    return method


def naming_layers(checkpoint: Checkpoint, ids: Sequence[int]) -> Checkpoint:
    """The same checkpoint with its config naming these layers, counted as its method counts them."""
    method = described(checkpoint)
    if not method.id_keys:
        return checkpoint
    values = _with(checkpoint.draft.normalised, method.id_keys[0].split("."), list(ids))
    layers = tuple(number - 1 if method.boundary else number for number in ids)
    return replace(checkpoint, draft=replace(checkpoint.draft, normalised=values), target_layer_ids=layers)


def _with(values: Mapping[str, Json], path: Sequence[str], value: Json) -> Mapping[str, Json]:
    first, *rest = path
    inner = values.get(first)
    below = _with(inner if isinstance(inner, Mapping) else {}, rest, value) if rest else value
    return {**values, first: below}
