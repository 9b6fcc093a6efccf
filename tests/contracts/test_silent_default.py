"""``silent-default``: a config without layer ids, and an engine that guesses 2, n // 2 and n - 3."""

import pytest

from investigator.model import Runner, Verdict
from tests.support import mini_vllm as mini
from tests.support.miniature_vllm import checkpoint

WITHOUT = checkpoint(dflash_config={"mask_token_id": 9})
GUESS = "the engine guesses layers [2, 3, 3]"  # of six layers
PIN = "pin them with dflash_config.target_layer_ids (or eagle_aux_hidden_state_layer_ids)"


@pytest.mark.parametrize(
    ("guess", "verdict", "why"),
    [
        ("quiet", Verdict.BROKEN, f"{GUESS} without a word; {PIN}"),
        ("info", Verdict.BROKEN, f"{GUESS} with no more than a line at level info; {PIN}"),
        ("warning", Verdict.HONOURED, f"{GUESS} and warns about it"),
        (
            "refused",
            Verdict.REFUSED,
            'the engine stops: ValueError("the draft config names no layers of the target")',
        ),
    ],
)
def test_a_guess_is_as_good_as_it_is_loud(guess: str, verdict: Verdict, why: str) -> None:
    found = mini.finding("silent-default", Runner.V1, WITHOUT, guess=guess)

    assert (found.verdict, found.why) == (verdict, why)


def test_the_evidence_is_the_guess_and_what_is_said() -> None:
    found = mini.finding("silent-default", Runner.V1, WITHOUT, guess="info")

    assert [(item.role, item.quote.strip()) for item in mini.quotes(found, mini.RUNNER_FILE)] == [
        ("the guess is taken", "taps = self.model.get_eagle3_default_aux_hidden_state_layers()"),
        ("says so at level info", 'logger.info("Using layers %s", taps)'),
    ]


def test_the_second_runner_guesses_by_itself() -> None:
    found = mini.finding("silent-default", Runner.V2, WITHOUT, guess="warning")

    assert (found.verdict, found.why) == (Verdict.BROKEN, f"{GUESS} without a word; {PIN}")


def test_a_config_that_names_them_is_never_guessed_about() -> None:
    assert mini.finding("silent-default", Runner.V1, guess="quiet").verdict is Verdict.NOT_APPLICABLE


def test_a_guess_that_cannot_be_followed_is_unknown() -> None:
    files = mini.texts(guess="info")
    files[mini.TARGET_FILE] = files[mini.TARGET_FILE].replace(
        "count = len(self.model.layers)", "count = self.measured_depth()"
    )

    found = mini.finding_on(mini.tree_of(files), "silent-default", Runner.V1, WITHOUT)

    assert found.verdict is Verdict.UNKNOWN


def test_a_runner_that_does_not_take_the_method() -> None:
    found = mini.finding("silent-default", Runner.V2, WITHOUT, check="second-lacks-method")

    assert found.verdict is Verdict.UNSUPPORTED
