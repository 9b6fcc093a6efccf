"""What is too large is not read, and does not keep the rest from being read."""

import pytest

from investigator.code import program as program_module
from investigator.code.program import EVERYTHING, Program
from investigator.code.syntax import MAX_FILE_BYTES
from investigator.errors import LimitError
from tests.support.builders import TextTree, source


class Refusing(TextTree):
    """A tree that does not hand out its file ``vllm/huge.py``, as trees do with files over 8 MiB."""

    def read(self, path: str) -> bytes:
        if path == "vllm/huge.py":
            raise LimitError("vllm/huge.py is too large", "it is not read")
        return super().read(path)

    def digest(self, path: str) -> str:
        self.read(path)
        return f"digest of {path}"


def test_a_search_passes_over_files_that_are_too_large() -> None:
    wide = "layer_ids = 1 #" + "x" * MAX_FILE_BYTES
    program = Program(
        Refusing(source(), {"vllm/a.py": "layer_ids = 0", "vllm/huge.py": "layer_ids", "vllm/wide.py": wide})
    )

    assert [module.path for module in program.search(["layer_ids"])] == ["vllm/a.py"]
    assert program.consulted.keys() == {EVERYTHING, "vllm/a.py"}


def test_a_file_that_is_asked_for_and_too_large_is_an_error() -> None:
    program = Program(TextTree(source(), {"vllm/wide.py": "#" * (MAX_FILE_BYTES + 1)}))

    with pytest.raises(LimitError, match=r"vllm/wide\.py is 2,097,153 bytes, more than 2,097,152"):
        program.module_at("vllm/wide.py")


def test_many_files_are_too_large_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_module, "MAX_TREE_BYTES", 1000)
    program = Program(TextTree(source(), {f"vllm/f{n}.py": "x = 1\n".ljust(400, "#") for n in range(3)}))

    assert program.module_at("vllm/f0.py") is not None
    assert program.view().module_at("vllm/f1.py") is not None
    with pytest.raises(LimitError, match="over 1,000 bytes of vllm would have to be parsed"):
        program.view().module_at("vllm/f2.py")
