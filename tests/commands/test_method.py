"""``--method``: what it names, and what the case becomes."""

import click
import pytest
from click.testing import CliRunner

from investigator.case import DEFAULT_DRAFT, DEFAULT_PULL_REQUESTS, DEFAULT_REFERENCES, Case
from investigator.commands.options import case_options, drafter, method_option
from investigator.commands.run import repeated
from investigator.errors import UsageError


def case_of(*arguments: str) -> Case:
    made: list[Case] = []

    @click.command()
    @case_options
    def command(case: Case) -> None:
        made.append(case)

    result = CliRunner().invoke(command, arguments, catch_exceptions=False, standalone_mode=False)
    assert result.exit_code == 0, result.output
    return made[0]


def test_a_model_that_drafts_for_itself_is_named_once() -> None:
    case = case_of("--method", "mtp", "--target", "some/model@abc")

    assert str(case.draft) == str(case.target) == "some/model@abc"
    assert case.method == "mtp"


def test_its_layers_may_come_from_another_checkpoint() -> None:
    case = case_of("--method", "mtp", "--target", "some/model-FP8", "--draft", "some/model")

    assert (str(case.draft), str(case.target)) == ("some/model", "some/model-FP8")


def test_a_method_without_a_model() -> None:
    with pytest.raises(UsageError, match="--method mtp names no model"):
        case_of("--method", "mtp")


def test_what_is_about_drafters_of_whole_blocks_is_left_out() -> None:
    case = case_of("--method", "mtp", "--target", "some/model")
    assert (case.references, case.pull_requests) == ((), ())

    asked = case_of("--method", "mtp", "--target", "some/model", "--pull-request", "some/engine#1")
    assert asked.pull_requests == ("some/engine#1",)


@pytest.mark.parametrize("arguments", [(), ("--method", "dflash")])
def test_any_other_method_changes_nothing(arguments: tuple[str, ...]) -> None:
    case = case_of(*arguments)

    assert str(case.draft) == DEFAULT_DRAFT
    assert (case.references, case.pull_requests) == (DEFAULT_REFERENCES, DEFAULT_PULL_REQUESTS)


def test_a_method_that_nobody_knows() -> None:
    with pytest.raises(click.BadParameter, match="'guess' is not one of"):
        case_of("--method", "guess")


def test_the_command_that_repeats_a_run_names_it() -> None:
    case = case_of("--method", "mtp", "--target", "some/model")

    assert repeated(case) == (
        "investigate run --engine vllm==0.20.1 --draft some/model --target some/model --method mtp"
    )


def test_a_timeline_of_several_models() -> None:
    named: list[str] = []

    @click.command()
    @click.option("--draft", "drafts", multiple=True, default=(DEFAULT_DRAFT,))
    @method_option
    def command(drafts: tuple[str, ...], method: str | None) -> None:
        named.extend(str(drafter(draft, None, method)) for draft in drafts)

    run = CliRunner().invoke
    run(
        command, ["--method", "mtp", "--draft", "some/model", "--draft", "some/other"], catch_exceptions=False
    )
    assert named == ["some/model", "some/other"]
    with pytest.raises(UsageError, match="--method mtp names no model"):
        run(command, ["--method", "mtp"], catch_exceptions=False)
