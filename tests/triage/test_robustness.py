"""Whatever is piped in: no crash, bounded memory."""

import io
import os
import subprocess
import sys
import tracemalloc

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from investigator.errors import InvestigateError
from investigator.reports.triage_section import markdown_section, plain_lines
from investigator.triage import case_hints, judge, load_figures, read_symptom

FIGURES = load_figures()
PARTS = (
    "SpecDecoding metrics: ",
    "Mean acceptance length: ",
    "Accepted: ",
    "Drafted: ",
    " tokens",
    "Per-position acceptance rate: ",
    "0.5, ",
    "1.000, ",
    "nan",
    "accept len: ",
    "accept rate: ",
    "#running-req: ",
    "#token: ",
    "#new-token: ",
    "#cached-token: ",
    "vllm:spec_decode_num_drafts_total ",
    "vllm:spec_decode_num_accepted_tokens_total ",
    '{position="0"}',
    "1e99",
    "1e+09",
    '"spec_decode_num_drafts": ',
    '"acceptance_histogram": [',
    '"num_spec_steps": ',
    "]",
    "}",
    "Drafts: ",
    "  Position 0: ",
    "Acceptance length: ",
    "Accepted tokens: ",
    "vllm serve ",
    "--speculative-config ",
    '\'{"method": "dflash"',
    "'",
    '"',
    "\\\n",
    "\n",
    "\r",
    ", ",
    "0",
    "7",
    "1.18",
    "999999999999999",
    "--spec-tokens ",
    "z-lab/Qwen3-8B-DFlash-b16",
    "Running: 1 reqs, ",
    "GPU KV cache usage: 50%",
    "GPU KV cache size: 9,000 tokens",
    "Namespace(dataset_name='random'",
    "enable_thinking=true",
    "\x1b[0m",
    "image: vllm/vllm-openai:v0.20.1\n",
    "  args:\n",
    "  args: [",
    "  command: |\n",
    "  - ",
    "speculative_config: {",
    "speculative-config:\n  method: x\n",
    "model: a/b\n",
    "VLLM_X: ",
)


def whole_way(data: bytes) -> None:
    try:
        symptom = read_symptom(io.BytesIO(data))
    except InvestigateError:
        return
    triage = judge(symptom, FIGURES)
    case_hints(symptom)
    markdown_section(triage)
    plain_lines(triage)


@given(st.binary(max_size=4000))
@settings(max_examples=150, deadline=None)
def test_any_bytes(data: bytes) -> None:
    whole_way(data)


@given(st.lists(st.sampled_from(PARTS), max_size=60))
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_mixture_of_what_the_formats_are_made_of(parts: list[str]) -> None:
    whole_way("".join(parts).encode())


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_inputs_cut_and_spoilt(data: st.DataObject) -> None:
    text = (
        b"vllm serve T --spec-tokens 15\nSpecDecoding metrics: Mean acceptance length: 2.63, Accepted: "
        b"768 tokens, "
        b"Drafted: 2355 tokens, Per-position acceptance rate: 0.726, 0.467, 0.240, 0.134, 0.064\n"
        b'vllm:spec_decode_num_drafts_total{engine="0"} 1000.0\n{"spec_decode_num_drafts": 400, '
        b'"spec_decode_accepted_tokens": 200, "spec_decode_per_position_acceptance_rates": [0.4, 0.1]}\n'
    )
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    spoilt = bytearray(text[start:end])
    for place in data.draw(st.lists(st.integers(0, max(0, len(spoilt) - 1)), max_size=8)):
        if spoilt:
            spoilt[place] = data.draw(st.integers(0, 255))
    whole_way(bytes(spoilt))


@pytest.mark.parametrize(
    "block",
    [
        b"\0",
        b",",
        b'"acceptance_histogram": [',
        b'"acceptance_histogram": [1,2,\n',
        b"vllm serve 'x\n",
        b"\x1b]8;;",
        b"'\\\n",
        b"args: [\n",
        b"args:\n- a\n",
        b"speculative_config: {\n",
    ],
    ids=[
        "zeros",
        "commas",
        "open lists",
        "lists over lines",
        "open quotes",
        "open escapes",
        "open ends",
        "open flows",
        "items",
        "open blocks",
    ],
)
def test_hostile_repetition_stays_small(block: bytes) -> None:
    data = block * (2_000_000 // len(block))
    tracemalloc.start()
    read_symptom(io.BytesIO(data))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8_000_000


def test_random_bytes_are_read_past() -> None:
    assert not read_symptom(io.BytesIO(os.urandom(1_000_000))).recognised


READ_FROM_PIPE = """
import resource, sys
from investigator.triage import read_symptom
base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
symptom = read_symptom(sys.stdin.buffer)
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - base
print(symptom.bytes_read, symptom.lines_read, symptom.best.counters.drafts, grown)
"""


@pytest.mark.slow
def test_a_hundred_megabytes_in_bounded_memory() -> None:
    access = (
        b'(APIServer pid=1) INFO: 172.31.0.1:37016 - "POST /v1/chat/completions HTTP/1.1" 200 OK\n' * 1000
    )
    metrics = (
        b"(APIServer pid=1) INFO 05-07 04:56:17 [metrics.py:101] SpecDecoding metrics: Mean acceptance "
        b"length: 1.18, "
        b"Accepted: 90 tokens, Drafted: 7500 tokens, Per-position acceptance rate: 0.160, 0.020"
        + b", 0.000" * 13
        + b"\n"
    )
    block = access + metrics
    times = 100_000_000 // len(block) + 1
    process = subprocess.Popen(
        [sys.executable, "-c", READ_FROM_PIPE], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    for _ in range(times):
        process.stdin.write(block)
    process.stdin.close()
    size, lines, drafts, grown = map(int, process.stdout.read().split())
    assert process.wait() == 0
    assert size == times * len(block) > 100_000_000
    assert lines == times * 1001
    assert drafts == times * 500
    assert grown < 20_000, "KiB of resident memory, beyond the program itself"
