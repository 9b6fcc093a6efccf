"""What can be known of a tree, what a program notes of it, and what is worked out once for trees alike."""

import gc
import weakref
from collections.abc import Iterator

import pytest
from tree_sitter import Node

from investigator.code import classes
from investigator.code.contents import EVERYTHING, Contents
from investigator.code.interpreter import Interpreter
from investigator.code.names import import_value
from investigator.code.program import Definition, ParsedFiles, Program, bindings
from investigator.code.values import ClassValue, External, Scope, Unknown
from tests.code.trees import MemoryTree

METADATA = "sglang-0.5.11.dist-info/METADATA"
FILES = {
    "sglang/a.py": b"x = 1\n",
    "sglang/deep/b.py": b"y = 2\n",
    "sglang/deep/notes.txt": b"",
    METADATA: b"Metadata-Version: 2.1\nVersion: 0.5.11\nRequires-Dist: transformers==5.3.0; extra == 'x'\n"
    b"Requires-Dist: transformers-stream-generator==0.1\nRequires-Dist: torch ==2.9.1\n",
}


def program(files: dict[str, bytes], parsed: ParsedFiles | None = None) -> Program:
    return Program(MemoryTree(files), parsed=parsed)


@pytest.mark.parametrize(
    ("changed", "facts"),
    [
        ({}, set()),
        ({"sglang/a.py": b"x = 2\n"}, {"sglang/a.py", EVERYTHING}),
        ({"sglang/gone.py": b""}, {"sglang/gone.py", "sglang/", EVERYTHING}),
        ({"sglang/deep/inner/c.py": b""}, {"sglang/deep/inner/**", EVERYTHING}),
        ({"sglang/deep/inner/c.so": b""}, {"sglang/deep/inner/**"}),
        ({METADATA: FILES[METADATA].replace(b"0.5.11", b"0.5.12")}, {METADATA}),
        ({METADATA: FILES[METADATA].replace(b"5.3.0", b"5.4.0")}, {METADATA, "requires transformers"}),
        ({METADATA: FILES[METADATA].replace(b"2.9.1", b"2.9.2")}, {METADATA, "requires torch"}),
    ],
)
def test_a_change_is_one_of_the_facts_that_it_touches(changed: dict[str, bytes], facts: set[str]) -> None:
    names = (
        *("sglang/a.py", "sglang/gone.py", "sglang/", "sglang/deep/", "sglang/deep/inner/**"),
        *(EVERYTHING, METADATA, "requires transformers", "requires torch", "requires numpy"),
    )
    before, after = Contents(MemoryTree(FILES)), Contents(MemoryTree({**FILES, **changed}))

    assert {name for name in names if not after.hold({name: before.fact(name)})} == facts


def test_what_is_required_is_told_as_it_is_written() -> None:
    made = program(FILES)

    assert made.requirement("transformers") == "transformers==5.3.0"
    assert made.requirement("torch") == "torch ==2.9.1"
    assert made.requirement("numpy") == ""
    assert made.consulted.keys() == {"requires transformers", "requires torch", "requires numpy"}


def test_whether_a_folder_is_there_is_part_of_what_an_import_rests_on() -> None:
    """A folder that turns up, with no ``__init__.py`` in it, makes a package of a name from outside."""
    before = program(FILES)
    after = program({**FILES, "kernels/fast.so": b""})

    assert isinstance(import_value(Interpreter(before), "kernels", "fast"), External)
    assert isinstance(import_value(Interpreter(after), "kernels", "fast"), Unknown)
    assert not Contents(after.tree).hold(before.consulted)


def test_what_was_worked_out_holds_for_another_tree_with_the_same_facts_alone() -> None:
    parsed, looks = ParsedFiles(), []

    def look(program: Program) -> str:
        looks.append(program)
        module = program.module_at("sglang/a.py")
        assert module is not None
        return module.file.source.decode() + str(program.has("sglang/gone.py"))

    def asked(files: dict[str, bytes]) -> tuple[str, set[str]]:
        made = program(files, parsed)
        return made.shared("a and gone", look), set(made.consulted)

    rests_on = {"sglang/a.py", "sglang/gone.py"}
    assert asked(FILES) == ("x = 1\nFalse", rests_on)
    assert asked({**FILES, "sglang/deep/b.py": b"other"}) == ("x = 1\nFalse", rests_on)
    assert len(looks) == 1
    assert asked({**FILES, "sglang/a.py": b"x = 2\n"}) == ("x = 2\nFalse", rests_on)
    assert asked({**FILES, "sglang/gone.py": b""}) == ("x = 1\nTrue", rests_on)
    assert len(looks) == 3


def test_programs_that_live_at_once_share_a_file_and_leave_nothing_behind() -> None:
    one, other = program({"a/unlike.py": b"z = 3\n"}), program({"a/unlike.py": b"z = 3\n"})

    assert one.module_at("a/unlike.py") is other.module_at("a/unlike.py")
    assert program({"a/unlike.py": b"z = 4\n"}).module_at("a/unlike.py") is not one.module_at("a/unlike.py")
    held = weakref.ref(one.module_at("a/unlike.py") or one)
    del one, other
    gc.collect()
    assert held() is None


def test_what_is_read_off_a_shared_file_is_never_seen_half_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """While one investigation reads a class, another one that shares the file asks for it."""
    text = {"a/half.py": b"class Config:\n    first = 1\n    second = 2\n"}
    module = program(text).module_at("a/half.py")
    assert module is not None
    cls = ClassValue("Config", module.symbols["Config"][0].node, Scope(module))
    seen: list[list[str]] = []

    def slowly(block: Node, package: str) -> Iterator[Definition]:
        for each in bindings(block, package):
            yield each
            monkeypatch.setattr(classes, "bindings", bindings)
            seen.append(list(classes.definitions(cls)))

    monkeypatch.setattr(classes, "bindings", slowly)

    assert list(classes.definitions(cls)) == ["first", "second"]
    assert seen == [["first", "second"]] * 2
