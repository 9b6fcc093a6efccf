import json
from pathlib import Path

import pytest

from investigator.errors import UsageError
from investigator.validation import corpus
from investigator.validation.pair import Pair, resolve_pair
from investigator.validation.prompts import digest, read_prompts
from investigator.validation.specs import TINY, PairSpec

HUB = Pair(name="draft", target="someone/target", draft="someone/draft", local=False)


def model(folder: Path, **config: object) -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def test_two_folders_are_a_pair(tmp_path: Path) -> None:
    target = model(tmp_path / "target")
    draft = model(tmp_path / "draft", block_size=16)
    (draft / "model.safetensors").write_bytes(b"12345678")
    pair = resolve_pair(f"{target},{draft}", tmp_path, train=None)
    assert (pair.local, pair.speculative_tokens, pair.weight_bytes) == (True, 15, 8)


@pytest.mark.parametrize(
    ("folder", "name"), [("full-padded/draft", "full-padded"), ("a/my-drafter", "my-drafter")]
)
def test_a_pair_is_named_after_what_tells_it_apart(tmp_path: Path, folder: str, name: str) -> None:
    pair = resolve_pair(f"{model(tmp_path / 't')},{model(tmp_path / folder)}", tmp_path, train=None)

    assert pair.name == name


def test_the_block_size_inside_dflash_config_wins(tmp_path: Path) -> None:
    draft = model(tmp_path / "draft", block_size=16, dflash_config={"block_size": 8})
    assert resolve_pair(f"{model(tmp_path / 't')},{draft}", tmp_path, train=None).speculative_tokens == 7


def test_two_hub_ids_are_a_pair(tmp_path: Path) -> None:
    pair = resolve_pair("Qwen/Qwen3-8B,z-lab/Qwen3-8B-DFlash-b16", tmp_path, train=None)
    assert (pair.local, pair.name, pair.weight_bytes) == (False, "Qwen3-8B-DFlash-b16", 0)


@pytest.mark.parametrize("text", ["", "huge", "a,b", "a/b,", "../a/b,c/d", "owner/a,/abs/b", "a/b/c,d/e"])
def test_other_pairs_are_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError, match="pair"):
        resolve_pair(text, tmp_path, train=None)


def test_a_block_size_that_is_no_number_is_refused(tmp_path: Path) -> None:
    draft = model(tmp_path / "d", block_size="eight")
    with pytest.raises(UsageError, match="block_size is 'eight'"):
        _ = resolve_pair(f"{model(tmp_path / 't')},{draft}", tmp_path, train=None).speculative_tokens


def test_the_tiny_pair_is_trained_once_and_kept(tmp_path: Path) -> None:
    trained: list[Path] = []

    def train(spec: PairSpec, folder: Path) -> None:
        assert spec == TINY
        trained.append(folder)
        model(folder / "target", **spec.target_config())
        model(folder / "draft", **spec.draft_config())

    first = resolve_pair("tiny", tmp_path, train=train)
    assert resolve_pair("tiny", tmp_path, train=train) == first
    assert trained == [Path(first.target).parent]


def test_a_plan_with_the_tiny_pair_needs_no_training(tmp_path: Path) -> None:
    pair = resolve_pair("tiny", tmp_path, train=None)
    assert (pair.speculative_tokens, pair.prompt_tokens, list(tmp_path.iterdir())) == (7, 1000, [])


def test_ids_taken_are_distinct_and_leave_room_above() -> None:
    # Engines drop duplicates, and a tap one past the last layer is not there.
    for ids in (TINY.target_layer_ids,):
        assert len(set(ids)) == len(ids)
        assert max(ids) < TINY.target_layers - 1


def test_prompts_of_token_ids_are_taken_as_they_are(tmp_path: Path) -> None:
    file = tmp_path / "prompts.json"
    file.write_text("[[1, 2], [3]]")
    assert read_prompts(file, HUB) == [[1, 2], [3]]


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "[[]]", "[[-1]]", '[[1], "a"]', "[[1.5]]", "[[true]]", '[""]']
)
def test_other_prompts_are_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "prompts.json"
    file.write_text(text)
    with pytest.raises(UsageError):
        read_prompts(file, HUB)


def test_prompts_and_training_texts_do_not_overlap() -> None:
    training = set(corpus.training_texts(40_000_000, with_packages=False))
    for piece in corpus.prompt_texts(20, 2000):
        assert not any(piece in text for text in list(training)[:300])


def test_prompts_are_the_same_each_time_and_from_many_files() -> None:
    assert corpus.prompt_texts(20, 2000) == corpus.prompt_texts(20, 2000)
    assert len(set(corpus.prompt_texts(20, 2000))) == 20


def test_asking_for_more_than_there_is_says_how_many_there_are() -> None:
    with pytest.raises(UsageError, match=r"where prompts come from, holds \d+ of 50000 characters") as caught:
        corpus.prompt_texts(5000, 50_000)

    assert caught.value.advice == "give fewer --prompts, fewer --prompt-tokens, or a file with --prompts"


def test_the_digest_tells_prompts_apart() -> None:
    assert digest([[1, 2]]) == digest([[1, 2]]) != digest([[1], [2]])
