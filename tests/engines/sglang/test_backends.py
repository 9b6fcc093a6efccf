"""The attention backends for which an answer about the draft holds, as releases list them."""

import pytest

from investigator.code.program import Program
from investigator.engines.sglang.backends import OBEYS, accepted, condition
from investigator.engines.sglang.world import Session, World
from tests.code.trees import MemoryTree
from tests.support.releases import FULL, pair

IN_THE_WORKER = b"""
class Worker:
    def __init__(self, server_args):
        draft_backend = server_args.speculative_draft_attention_backend
        supported_draft_backends = ("flashinfer", "fa3", "triton")
"""
AS_CHOICES = b"""
ATTENTION_BACKEND_CHOICES = ["triton", "flashinfer", "tbd"]
DRAFT_ATTENTION_BACKEND_CHOICES = [
    "flashinfer",
    "triton",
    "trtllm_mha",
]
"""
WORKER = "sglang/srt/speculative/dflash_worker.py"
CHOICES = "sglang/srt/arg_groups/choices.py"


def session(files: dict[str, bytes], **flags: str) -> Session:
    deployment = {f"--{name.replace('_', '-')}": value for name, value in flags.items()}
    return World(Program(MemoryTree(files)), pair(FULL), deployment).start()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("path", "text", "names"),
    [
        (WORKER, IN_THE_WORKER, ("flashinfer", "fa3", "triton")),
        (CHOICES, AS_CHOICES, ("flashinfer", "triton", "trtllm_mha")),
        (CHOICES, b"ATTENTION_BACKENDS = ['triton', 'flashinfer']\n", ()),
    ],
    ids=["in the worker", "as choices", "no list of the draft's"],
)
def test_the_list_of_what_the_draft_takes(path: str, text: bytes, names: tuple[str, ...]) -> None:
    assert accepted(session({path: text})) == names


def test_without_a_flag_the_answer_holds_for_each_backend_of_the_list() -> None:
    assert condition(session({WORKER: IN_THE_WORKER})) == f"with any of flashinfer, fa3, triton, each {OBEYS}"


def test_the_backend_that_is_named_is_the_one() -> None:
    assert condition(session({WORKER: IN_THE_WORKER}, attention_backend="triton")) == f"with triton, {OBEYS}"


def test_the_draft_s_own_flag_is_the_stronger() -> None:
    both = session(
        {WORKER: IN_THE_WORKER}, attention_backend="triton", speculative_draft_attention_backend="fa3"
    )

    assert condition(both) == f"with fa3, {OBEYS}"


def test_a_backend_that_the_draft_does_not_take_is_said() -> None:
    said = condition(session({WORKER: IN_THE_WORKER}, attention_backend="trtllm_mha"))

    assert "the draft worker falls back to, since it does not take trtllm_mha" in said


def test_the_flags_reach_the_server_s_arguments() -> None:
    made = session({}, disable_radix_cache="", attention_backend="triton").server_args.attributes

    assert (made["disable_radix_cache"], made["attention_backend"]) == (True, "triton")
    assert "disable_overlap_schedule" not in made
