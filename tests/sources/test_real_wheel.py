"""The real vLLM 0.20.1 off the package index: what it costs, and that it is what its RECORD says."""

import base64
import csv
import hashlib
import io
from pathlib import Path

import pytest

from investigator.case import EngineSpec
from investigator.sources.open import Workspace, open_engine

pytestmark = pytest.mark.network

RELEASE = EngineSpec.parse("vllm==0.20.1")
FILES = [
    "vllm/config/speculative.py",
    "vllm/config/vllm.py",
    "vllm/model_executor/models/qwen3_dflash.py",
    "vllm/model_executor/models/registry.py",
    "vllm/transformers_utils/configs/speculators/algos.py",
    "vllm/v1/core/kv_cache_coordinator.py",
    "vllm/v1/core/kv_cache_manager.py",
    "vllm/v1/core/kv_cache_utils.py",
    "vllm/v1/core/sched/scheduler.py",
    "vllm/v1/core/single_type_kv_cache_manager.py",
    "vllm/v1/spec_decode/dflash.py",
    "vllm/v1/spec_decode/eagle.py",
    "vllm/v1/spec_decode/utils.py",
    "vllm/v1/worker/gpu/model_runner.py",
    "vllm/v1/worker/gpu_model_runner.py",
]


def test_fifteen_files_cost_under_a_megabyte_and_a_second_run_nothing(tmp_path: Path) -> None:
    cold = Workspace.open(cache_dir=tmp_path)
    tree = open_engine(RELEASE, cold)
    tree.prefetch(FILES)
    contents = {path: tree.read(path) for path in FILES}

    assert cold.transport.usage().requests <= 15
    assert cold.transport.usage().bytes <= 1_000_000

    record = {row[0]: row[1] for row in csv.reader(io.StringIO(read_record(tree)))}
    for path, data in contents.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        assert record[path] == f"sha256={digest}"
        assert tree.digest(path) == hashlib.sha256(data).hexdigest()

    warm = Workspace.open(cache_dir=tmp_path, offline=True)
    again = open_engine(RELEASE, warm)
    again.prefetch(FILES)
    assert {path: again.read(path) for path in FILES} == contents
    assert warm.transport.usage().requests == 0
    assert again.source.name.startswith("vllm-0.20.1-1-")  # the re-built wheel, not the first one


def read_record(tree: object) -> str:
    """RECORD itself, which nothing vouches for: read past the tree's own checks."""
    from investigator.sources import range_zip
    from investigator.sources.wheel import WheelTree

    assert isinstance(tree, WheelTree)
    member = tree._directory.member("vllm-0.20.1.dist-info/RECORD")
    return range_zip.extract(member, tree._file.read(member.start, member.limit)).decode()
