"""A search through the whole tree: what it finds, what it rests on, and that it is made once."""

from dataclasses import dataclass, field

from investigator.code.contents import EVERYTHING, Contents
from investigator.code.program import Program
from tests.support.builders import TextTree, source

TEXTS = {
    "vllm/a.py": "def reads(config):\n    return config['layer_ids']\n",
    "vllm/moved/b.py": "LAYER = 'layer_ids'\nother = 1\n",
    "vllm/c.py": "nothing = 0\n",
    "vllm/notes.md": "layer_ids",
}


@dataclass(frozen=True)
class Counted(TextTree):
    """A tree that counts reads."""

    reads: list[str] = field(default_factory=list)

    def read(self, path: str) -> bytes:
        self.reads.append(path)
        return super().read(path)

    def digest(self, path: str) -> str:
        return f"digest of {path}"


def program() -> tuple[Program, Counted, list[str]]:
    tree = Counted(source(), TEXTS)
    searches: list[str] = []
    return Program(tree, on_full_search=searches.append), tree, searches


def test_every_python_file_that_holds_all_needles() -> None:
    made, _, searches = program()

    assert [m.path for m in made.search(["layer_ids"])] == ["vllm/a.py", "vllm/moved/b.py"]
    assert [m.path for m in made.search(["layer_ids", "other"])] == ["vllm/moved/b.py"]
    assert made.search(["gone"]) == []
    assert searches == ["layer_ids", "layer_ids and other", "gone"]


def test_a_hint_that_holds_them_saves_the_search() -> None:
    made, tree, searches = program()

    assert [m.path for m in made.mentioning(["layer_ids"], ["vllm/gone.py", "vllm/a.py"])] == ["vllm/a.py"]
    assert searches == []
    assert set(tree.reads) == {"vllm/a.py"}
    assert made.consulted == {"vllm/gone.py": "", "vllm/a.py": "digest of vllm/a.py"}


def test_the_same_search_by_another_question_reads_nothing_and_rests_on_the_same() -> None:
    made, tree, searches = program()
    made.search(["layer_ids"])
    read = len(tree.reads)

    other = made.view()
    found = other.search(["layer_ids"])

    assert [m.path for m in found] == ["vllm/a.py", "vllm/moved/b.py"]
    assert len(tree.reads) == read
    assert searches == ["layer_ids"]
    assert other.consulted == made.consulted
    assert made.consulted[EVERYTHING] == Contents(tree).fact(EVERYTHING)
