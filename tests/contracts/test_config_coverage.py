"""``config-coverage``: what the reference reads and the checkpoint sets must reach the draft model."""

import pytest

from investigator.contracts.config_coverage import CONTRACT, set_keys
from investigator.contracts.contract import Sides, judge
from investigator.model import Answer, Json, Known, NotKnown, Role, Runner, Verdict
from tests.support import mini_vllm as mini
from tests.support.miniature_vllm import all_full, checkpoint

USERS = "block_size is not read: holds as long as num_speculative_tokens is set to block_size - 1"


@pytest.mark.parametrize(
    ("shapes", "verdict", "why"),
    [
        # A block's size is what the user asks for with num_speculative_tokens.
        ({"window": "per-layer"}, Verdict.PARTIAL, USERS),
        (
            {"window": "unread"},
            Verdict.BROKEN,
            "never reach the draft model: layer_types, sliding_window (and block_size is the user's to set)",
        ),
        # Read, and nothing comes of it: that does not count.
        (
            {"window": "computed-not-used"},
            Verdict.BROKEN,
            "never reach the draft model: layer_types, sliding_window (and block_size is the user's to set)",
        ),
    ],
    ids=lambda value: "-".join(value.values()) if isinstance(value, dict) else None,
)
def test_keys_on_the_drafters_path(shapes: dict[str, str], verdict: Verdict, why: str) -> None:
    found = mini.finding("config-coverage", Runner.V1, **shapes)

    assert (found.verdict, found.why) == (verdict, why)


def test_windows_do_not_matter_to_an_all_full_drafter() -> None:
    found = mini.finding("config-coverage", Runner.V1, all_full(), window="unread")

    assert (found.verdict, found.why) == (Verdict.PARTIAL, USERS)


def test_a_refusal_is_told_as_one() -> None:
    found = mini.finding("config-coverage", Runner.V1, window="refused-by-the-model")

    assert found.verdict is Verdict.REFUSED


def test_a_draft_model_that_cannot_be_built_leaves_it_open() -> None:
    files = mini.texts()
    registry = "vllm/model_executor/models/registry.py"
    files[registry] = files[registry].replace("DFlashDraftModel", "OtherDraftModel")

    found = mini.finding_on(mini.tree_of(files), "config-coverage", Runner.V1)

    assert found.verdict is Verdict.UNKNOWN


# -- the comparison alone ---------------------------------------------------------------


def compared(reference: list[str], engine: list[str], **draft: Json) -> tuple[Verdict, str]:
    def answer(role: Role, keys: list[str]) -> Answer:
        return Answer(
            contract=CONTRACT.id, role=role, agent=role.value, source=role.value, outcome=Known(keys)
        )

    sides = Sides(
        checkpoint=None,
        references=(answer(Role.REFERENCE, reference),),
        engine=answer(Role.ENGINE, engine),
        facts=checkpoint(**draft),
    )
    found = judge(CONTRACT, sides)
    return found.verdict, found.why


def test_every_key_read() -> None:
    verdict, why = compared(["head_dim", "block_size"], ["block_size", "head_dim", "vocab_size"])

    assert (verdict, why) == (
        Verdict.HONOURED,
        "every key that the reference reads and this checkpoint sets is read",
    )


@pytest.mark.parametrize(
    ("reference", "draft"),
    [
        (["scale"], {}),  # read by the reference, and this checkpoint does not set it
        (["rms_norm_eps"], {"rms_norm_eps": 1e-6}),  # no draft depends on who reads it
        (["num_target_layers"], {}),  # only to guess ids, and they are named
        (["dflash_config"], {}),  # the box, not what is in it
    ],
)
def test_keys_that_nobody_misses(reference: list[str], draft: dict[str, Json]) -> None:
    assert compared(reference, [], **draft)[0] is Verdict.HONOURED


def test_ids_that_are_guessed_need_the_number_of_layers() -> None:
    verdict, why = compared(["num_target_layers"], [], dflash_config={"mask_token_id": 9})

    assert (verdict, why) == (Verdict.BROKEN, "never reach the draft model: num_target_layers")


def test_keys_that_are_set() -> None:
    case = checkpoint(head_dim=None, dflash_config={"mask_token_id": 9, "unset": None})

    assert {"mask_token_id", "block_size", "dflash_config"} <= set_keys(case)
    assert not {"head_dim", "unset"} & set_keys(case)


def test_without_a_reference_there_is_nothing_to_cover() -> None:
    sides = Sides(
        checkpoint=None,
        references=(
            Answer(
                contract=CONTRACT.id,
                role=Role.REFERENCE,
                agent="reference",
                source="dflash",
                outcome=NotKnown("no draft model class was found"),
            ),
        ),
        engine=Answer(contract=CONTRACT.id, role=Role.ENGINE, agent="vllm", source="vllm", outcome=Known([])),
        facts=checkpoint(),
    )

    found = judge(CONTRACT, sides)
    assert (found.verdict, found.why) == (Verdict.UNKNOWN, "no draft model class was found")
