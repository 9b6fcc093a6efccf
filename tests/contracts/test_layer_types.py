"""``layer-types``: two draft layers see 8 tokens back, the third sees everything."""

import pytest

from investigator.contracts.layer_types import CONTRACT, describe
from investigator.model import Known, NotKnown, Runner, Verdict
from tests.support import mini_vllm as mini
from tests.support.miniature_vllm import all_full, checkpoint


@pytest.mark.parametrize(
    ("window", "verdict", "why"),
    [
        ("per-layer", Verdict.HONOURED, "the engine gives them 2 × 8, full"),
        ("unread", Verdict.BROKEN, "2 sliding layers of 3 run as full attention, without a word"),
        # Resolved, kept on the object, and never handed to the attention.
        ("computed-not-used", Verdict.BROKEN, "2 sliding layers of 3 run as full attention, without a word"),
        ("every-layer", Verdict.BROKEN, "layers [2] get another window than they were trained with"),
    ],
)
def test_each_layer_gets_its_window_or_does_not(window: str, verdict: Verdict, why: str) -> None:
    found = mini.finding("layer-types", Runner.V1, window=window)

    assert (found.verdict, found.why) == (verdict, why)


def test_the_evidence_names_the_reads_and_where_the_attention_is_made() -> None:
    read = mini.finding("layer-types", Runner.V1, window="per-layer")
    unread = mini.finding("layer-types", Runner.V1, window="unread")

    assert [(e.role, e.quote.strip()) for e in mini.quotes(unread, mini.DRAFT_FILE)] == [
        (
            "the draft layer's attention is made",
            "self.attn = Attention(config.num_attention_heads, config.head_dim, cache_config, prefix=prefix)",
        )
    ]
    assert {e.role for e in mini.quotes(read, mini.DRAFT_FILE)} == {
        "reads draft config.layer_types",
        "the draft layer's attention is made",
    }


def test_a_full_layer_may_inherit_the_targets_own_window() -> None:
    """The attention falls back to the cache config's window, that of an all-sliding target."""
    files = mini.texts(window="per-layer")
    files[mini.DRAFT_FILE] = files[mini.DRAFT_FILE].replace(
        "vllm_config.cache_config, prefix", "Slid(), prefix"
    )
    files[mini.DRAFT_FILE] += "\n\nclass Slid:\n    sliding_window = 4\n"

    found = mini.finding_on(mini.tree_of(files), "layer-types", Runner.V1)

    assert (found.verdict, found.why) == (
        Verdict.BROKEN,
        "layers [2] get another window than they were trained with",
    )


def test_a_model_that_stops_refuses() -> None:
    found = mini.finding("layer-types", Runner.V1, window="refused-by-the-model")

    assert found.verdict is Verdict.REFUSED
    assert found.why == (
        "the engine stops: NotImplementedError: layers that attend differently are not supported"
    )


def test_a_config_check_that_stops_refuses_on_its_runner_only() -> None:
    shapes = {"window": "per-layer", "check": "first-refuses-mixed"}

    first = mini.finding("layer-types", Runner.V1, **shapes)
    second = mini.finding("layer-types", Runner.V2, **shapes)

    assert (first.verdict, second.verdict) == (Verdict.REFUSED, Verdict.HONOURED)
    assert "a drafter with sliding and full attention" in first.why
    assert mini.quotes(first, mini.CONFIG_FILE)


def test_a_runner_without_the_method_is_unsupported() -> None:
    found = mini.finding("layer-types", Runner.V2, check="second-lacks-method")

    assert found.verdict is Verdict.UNSUPPORTED


def test_a_window_that_the_machine_decides_is_unknown() -> None:
    found = mini.finding("layer-types", Runner.V1, window="by-the-machine")

    assert found.verdict is Verdict.UNKNOWN
    assert found.why.startswith("the window of a draft layer: ")


@pytest.mark.parametrize("window", ["per-layer", "unread"])
@pytest.mark.parametrize("runner", list(Runner))
def test_an_all_full_drafter_needs_none(window: str, runner: Runner) -> None:
    found = mini.finding("layer-types", runner, all_full(), window=window)

    assert found.verdict is Verdict.NOT_APPLICABLE


def test_an_all_full_drafter_needs_none_even_where_the_runner_lacks_the_method() -> None:
    found = mini.finding("layer-types", Runner.V2, all_full(), check="second-lacks-method")

    assert found.verdict is Verdict.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("windows", "words"),
    [([8, 8, None], "2 × 8, full"), ([None], "full"), ([4, 8, 8], "4, 2 × 8"), ([], "")],
)
def test_windows_in_words(windows: list[int | None], words: str) -> None:
    assert describe(windows) == words


def test_what_the_checkpoint_says() -> None:
    assert CONTRACT.ask_checkpoint is not None

    assert CONTRACT.ask_checkpoint(checkpoint())[0] == Known([8, 8, None])
    assert isinstance(CONTRACT.ask_checkpoint(checkpoint(layer_types=None))[0], Known | NotKnown)


def test_an_engine_that_stops_over_windows_refuses_a_drafter_without_any() -> None:
    """``use_sliding_window: false`` takes the window away, and the layers still say that they slide."""
    case = checkpoint(use_sliding_window=False, model_type="qwen3")

    found = mini.finding("layer-types", Runner.V1, case, window="refused-by-the-model")

    assert case.windows == (None, None, None)
    assert found.verdict is Verdict.REFUSED
