"""Settings are offered where the engine knows them, as words for a shell."""

import json
import shlex
from dataclasses import replace

from investigator.code.program import Program
from investigator.model import RemedyKind, Runner, Verdict
from investigator.patches.repairs import CannotRepair, repair
from investigator.patches.settings import Setting, serve_command, settings_for
from tests.patches import miniature
from tests.patches.miniature import FILES, SPECULATIVE
from tests.support.mtp import DEEPSEEK, own

FIELDS = (
    "class SpeculativeConfig:\n    disable_last_drop: bool = False\n    disable_padding: bool = False\n\n"
)
PREDICATE = """
    def drops(self) -> bool:
        return self.use_eagle() and not self.disable_last_drop
"""
SWITCHED = SPECULATIVE.replace("class SpeculativeConfig:\n", FIELDS) + PREDICATE
ARGUMENTS = 'def add(group):\n    group.add_argument("--enable-prefix-caching")\n'
ENVIRONMENT = 'variables = {"VLLM_USE_V2_MODEL_RUNNER": lambda: None}\n'


def program(**more: str) -> Program:
    files = {**FILES, "vllm/engine/arg_utils.py": ARGUMENTS, "vllm/envs.py": ENVIRONMENT, **more}
    return Program(miniature.tree(files))


def test_the_switch_is_the_engines_own_field() -> None:
    found = settings_for(
        program(**{"vllm/config/speculative.py": SWITCHED}), [miniature.fault("cache-drop")], {}
    )
    assert [setting.ref for setting in found] == [
        """--speculative-config '{"disable_last_drop": true}'""",
        "--no-enable-prefix-caching",
    ]
    assert found[0].remedy().kind is RemedyKind.SETTING


def test_an_engine_without_the_switch_has_only_the_cache_to_turn_off() -> None:
    (found,) = settings_for(program(), [miniature.fault("cache-drop")], {})
    assert found.flags == ("--no-enable-prefix-caching",)


def test_an_engine_that_knows_no_setting_gets_none() -> None:
    bare = Program(miniature.tree())
    faults = [miniature.fault(contract) for contract in ("cache-drop", "lookahead", "layer-types")]
    assert settings_for(bare, faults, {("layer-types", Runner.V2): Verdict.HONOURED}) == ()


def test_the_other_runner_is_offered_only_when_it_keeps_the_promise() -> None:
    faults = [miniature.fault("layer-types")]
    (found,) = settings_for(program(), faults, {("layer-types", Runner.V2): Verdict.HONOURED})
    assert found.ref == "VLLM_USE_V2_MODEL_RUNNER=1"
    assert settings_for(program(), faults, {("layer-types", Runner.V2): Verdict.UNSUPPORTED}) == ()


def test_drafts_are_set_where_the_engine_leaves_the_block_size_to_its_user() -> None:
    asks = FIELDS.replace("disable_padding: bool = False", "num_speculative_tokens: int = None")
    knows = program(**{"vllm/config/speculative.py": SPECULATIVE.replace("class SpeculativeConfig:\n", asks)})
    broken = miniature.fault("config-coverage")
    (finding,) = broken.findings
    partial = replace(broken, findings=(replace(finding, verdict=Verdict.PARTIAL),))

    (found,) = settings_for(knows, [partial], {})

    assert found.ref == """--speculative-config '{"num_speculative_tokens": 7}'"""
    assert settings_for(knows, [broken], {}) == ()
    assert settings_for(program(), [partial], {}) == ()


def test_the_command_can_be_pasted_into_a_shell() -> None:
    settings = [
        Setting(contract="layer-types", environment={"VLLM_USE_V2_MODEL_RUNNER": "1"}, effect=""),
        Setting(contract="cache-drop", speculative={"disable_last_drop": True}, effect=""),
        Setting(contract="lookahead", flags=("--no-enable-prefix-caching",), effect=""),
        Setting(contract="cache-drop", flags=("--no-enable-prefix-caching",), effect=""),
    ]
    words = shlex.split(serve_command(miniature.checkpoint(), settings))
    assert words[:5] == ["VLLM_USE_V2_MODEL_RUNNER=1", "vllm", "serve", "TARGET", "--speculative-config"]
    assert json.loads(words[5]) == {
        "method": "dflash", "model": "toy/draft", "num_speculative_tokens": 7, "disable_last_drop": True
    }  # fmt: skip
    assert words[6:] == ["--no-enable-prefix-caching"]


def test_a_model_that_drafts_for_itself_is_served_by_its_name_alone() -> None:
    words = shlex.split(serve_command(own(DEEPSEEK)))

    assert words[:4] == ["vllm", "serve", "some/model", "--speculative-config"]
    assert json.loads(words[4]) == {"method": "mtp", "num_speculative_tokens": 1}


def test_a_drafter_that_needs_the_drop_is_offered_no_way_around_it() -> None:
    fault = replace(miniature.fault("cache-drop"), checkpoint=own(DEEPSEEK))

    assert settings_for(program(**{"vllm/config/speculative.py": SWITCHED}), [fault], {}) == ()


def test_no_repair_of_block_drafters_is_tried_for_mtp_layers() -> None:
    fault = replace(miniature.fault("lookahead"), checkpoint=own(DEEPSEEK))

    found = repair(program(), fault)
    assert isinstance(found, CannotRepair)
    assert found.reason == "the repairs known here are for drafters of whole blocks"
