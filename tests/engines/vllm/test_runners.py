"""Which runner a case uses by default, and what a runner's config check lets through."""

from collections.abc import Mapping

import pytest

from investigator.checkpoint import Checkpoint
from investigator.engines.interface import RunnerChoice
from investigator.engines.vllm import draft_layers, runners
from investigator.model import NotKnown, Runner, Unsupported
from tests.support import mini_vllm as mini
from tests.support.miniature_vllm import all_full, checkpoint

VARIABLE = "VLLM_USE_V2_MODEL_RUNNER"


def choice(
    case: Checkpoint | None = None, environment: Mapping[str, str] | None = None, **shapes: str
) -> RunnerChoice:
    return mini.engine(mini.tree(**shapes), case, environment).default_runner()


@pytest.mark.parametrize(
    ("shape", "case", "runner"),
    [
        ("v1", checkpoint(), Runner.V1),
        ("v2", checkpoint(), Runner.V2),
        # A list of architectures that the second runner is the default for.
        ("v2-for-listed", checkpoint(), Runner.V2),
        # A drafter of sliding and full layers brings the second runner with it.
        ("v2-for-mixed", checkpoint(), Runner.V2),
        ("v2-for-mixed", all_full(), Runner.V1),
    ],
)
def test_the_default(shape: str, case: Checkpoint, runner: Runner) -> None:
    assert choice(case, choice=shape).runner is runner


def test_a_target_that_is_not_listed() -> None:
    files = mini.texts(choice="v2-for-listed")
    files[mini.CONFIG_FILE] = files[mini.CONFIG_FILE].replace('"MiniTargetForCausalLM"', '"AnyForCausalLM"')

    assert mini.engine(mini.tree_of(files)).default_runner().runner is Runner.V1


def test_why_names_the_condition_that_decided() -> None:
    found = choice(choice="v2-for-mixed")

    assert VARIABLE in found.why
    assert "since `len(set(kinds)) > 1` holds" in found.why
    assert "overrides it" in found.why
    [step] = found.steps
    assert step.place.path == mini.CONFIG_FILE
    assert step.place.end_line == step.place.line + 1  # the condition, and the return under it


def test_why_says_which_condition_did_not_hold() -> None:
    assert "since `len(set(kinds)) > 1` does not hold" in choice(all_full(), choice="v2-for-mixed").why


@pytest.mark.parametrize(("value", "runner"), [("0", Runner.V1), ("1", Runner.V2)])
@pytest.mark.parametrize("shape", ["v1", "v2", "v2-for-mixed"])
def test_the_variable_wins(shape: str, value: str, runner: Runner) -> None:
    found = choice(environment={VARIABLE: value}, choice=shape)

    assert (found.runner, found.why) == (runner, f"{VARIABLE}={value} is set")


def test_an_engine_whose_worker_knows_no_such_flag_has_one_runner() -> None:
    files = mini.texts()
    files["vllm/v1/worker/gpu_worker.py"] = (
        "class Worker:\n    def __init__(self, vllm_config):\n        pass\n"
    )

    found = mini.engine(mini.tree_of(files)).default_runner()

    assert (found.runner, found.why) == (Runner.V1, "Worker knows one runner only")


def test_a_choice_that_the_machine_makes_is_open() -> None:
    files = mini.texts()
    files[mini.CONFIG_FILE] = files[mini.CONFIG_FILE].replace(
        "return envs.VLLM_USE_V2_MODEL_RUNNER or False", "return probe.memory() > 40"
    )
    files[mini.CONFIG_FILE] = "import probe\n" + files[mini.CONFIG_FILE]

    found = mini.engine(mini.tree_of(files)).default_runner()

    assert found.runner is None
    assert found.why.startswith("not decided: ")


def test_without_a_worker_it_is_open() -> None:
    files = mini.texts()
    del files["vllm/v1/worker/gpu_worker.py"]

    found = mini.engine(mini.tree_of(files)).default_runner()

    assert (found.runner, found.why) == (None, "no class Worker that picks a model runner was found")


# -- the config's check ------------------------------------------------------------------


def admission(runner: Runner, **shapes: str) -> runners.Admission:
    return runners.admission(mini.engine(mini.tree(**shapes))._world, runner)


def test_each_runner_runs_its_own_check() -> None:
    assert admission(Runner.V1, check="both") == runners.Admission()
    assert admission(Runner.V2, check="first-refuses-mixed") == runners.Admission()
    refused = admission(Runner.V1, check="first-refuses-mixed")
    assert [reason.text for reason in refused.reasons] == ["a drafter with sliding and full attention"]
    assert refused.error == (
        "ValueError: the first runner does not support a drafter with sliding and full attention"
    )


def test_a_method_that_is_listed_is_not_supported() -> None:
    told = runners.unsupported(mini.engine(mini.tree(check="second-lacks-method"))._world, Runner.V2)

    assert told is not None
    assert told.outcome == Unsupported("runner v2 does not take it: speculative method 'dflash'")


def test_the_variable_is_read_by_a_function_of_another_file() -> None:
    """Whether the check runs rests on it: it is followed before anything is called open."""
    files = mini.texts(check="second-lacks-method")
    path = next(path for path in files if path.endswith("/envs.py"))
    files["vllm/flags.py"] = "def as_flag(said):\n    return bool(int(said))\n"
    before = files[path]
    files[path] = before.replace("bool(int(os.getenv(", "as_flag((os.getenv(")
    files[path] = files[path].replace("import os\n", "import os\nfrom vllm.flags import as_flag\n", 1)

    told = runners.unsupported(mini.engine(mini.tree_of(files))._world, Runner.V2)

    assert files[path] != before
    assert told is not None
    assert told.outcome == Unsupported("runner v2 does not take it: speculative method 'dflash'")


def test_whether_the_check_runs_may_be_open() -> None:
    """It would refuse, and only the machine knows whether it is asked."""
    files = mini.texts(check="second-lacks-method")
    text = files[mini.CONFIG_FILE].replace(
        "if self.use_v2_model_runner:", "if self.use_v2_model_runner and probe.memory() > 40:"
    )
    files[mini.CONFIG_FILE] = "import probe\n" + text

    told = runners.unsupported(mini.engine(mini.tree_of(files))._world, Runner.V2)

    assert told is not None
    assert isinstance(told.outcome, NotKnown)
    assert told.outcome.reason.startswith("whether runner v2 takes it: ")


def test_a_check_that_breaks_off_is_no_refusal() -> None:
    files = mini.texts(check="second-lacks-method")
    files[mini.CONFIG_FILE] = files[mini.CONFIG_FILE].replace(
        "if unsupported:", "unsupported.sort(key=missing_name)\n        if unsupported:"
    )

    told = runners.unsupported(mini.engine(mini.tree_of(files))._world, Runner.V2)

    assert told is not None
    assert isinstance(told.outcome, NotKnown)


def test_a_drafter_that_is_listed_for_what_it_is_is_not_supported() -> None:
    """Whatever its layers are: the runner stops before it makes any of them."""
    found = admission(Runner.V1, check="first-refuses-heads")
    world = mini.engine(mini.tree(check="first-refuses-heads"))._world

    assert [reason.text for reason in found.reasons] == [
        "a drafter with sliding and full attention",
        "drafters with a head",
    ]
    told = runners.unsupported(world, Runner.V1)
    assert told is not None
    assert told.outcome == Unsupported("runner v1 does not take it: drafters with a head")
    assert len({step.place for step in told.steps}) == 2  # the condition, and what it lists
    assert runners.unsupported(world, Runner.V2) is None


def test_what_is_open_about_windows_leaves_the_rest_alone() -> None:
    files = mini.texts(check="first-refuses-mixed")
    text = files[mini.CONFIG_FILE].replace("if len(set(kinds)) > 1:", "if probe.mixed(kinds):")
    files[mini.CONFIG_FILE] = "import probe\n" + text
    world = mini.engine(mini.tree_of(files))._world

    assert runners.unsupported(world, Runner.V1) is None
    stopped = draft_layers.turned_away(world, Runner.V1)
    assert stopped is not None
    assert stopped.outcome == NotKnown(
        "whether runner v1 takes it: the check may list 'a drafter with sliding and full attention'"
    )


def test_what_is_open_about_anything_else_leaves_everything_open() -> None:
    files = mini.texts(check="first-refuses-heads")
    text = files[mini.CONFIG_FILE].replace('if "DFlashDraftModel" in', "if probe.heads() and")
    files[mini.CONFIG_FILE] = "import probe\n" + text.replace("if len(set(kinds)) > 1:", "if False:")

    told = runners.unsupported(mini.engine(mini.tree_of(files))._world, Runner.V1)

    assert told is not None
    assert told.outcome == NotKnown("whether runner v1 takes it: the check may list 'drafters with a head'")


# -- what the registry knows -------------------------------------------------------------


@pytest.mark.parametrize("runner", Runner)
def test_a_drafter_that_is_not_registered_beside_one_that_is(runner: Runner) -> None:
    world = mini.engine(mini.tree(), checkpoint(architectures=["DFlash2DraftModel"]))._world

    told = runners.unsupported(world, runner)

    assert told is not None
    assert told.outcome == Unsupported("the registry has no draft model DFlash2DraftModel")
    assert [step.role for step in told.steps] == ["a draft model of this method that is registered"]


def test_an_architecture_that_the_engine_may_rename_is_left_open() -> None:
    """A config of the engine's own may write ``DFlash`` before the name."""
    world = mini.engine(mini.tree(), checkpoint(architectures=["DraftModel"]))._world

    assert runners.unsupported(world, Runner.V1) is None


def test_without_a_registry_nothing_is_said_about_it() -> None:
    files = {path: text for path, text in mini.texts().items() if not path.endswith("registry.py")}

    assert runners.unsupported(mini.engine(mini.tree_of(files))._world, Runner.V1) is None
