"""Classes: inheritance, mixins, resolution order, properties, ``super()``, operators."""

import pytest

from investigator.code.values import Raised
from tests.code.running import UNKNOWN, options_of, reason, run

MIXED = """
    class Base:
        kind = "base"
        def __init__(self, size):
            self.size = size
        def name(self):
            return [self.kind]
        @property
        def double(self):
            return self.size * 2
        @double.setter
        def double(self, value):
            self.size = value // 2
        @classmethod
        def make(cls, size):
            return cls(size)
        @staticmethod
        def twice(value):
            return value + value
    class Left(Base):
        def name(self):
            return ["left", *super().name()]
    class Mixin:
        kind = "mixin"
        def name(self):
            return ["mixin", *super().name()]
    class Right(Mixin, Base):
        def name(self):
            return ["right", *super().name()]
    class Both(Left, Right):
        def __init__(self, size):
            super().__init__(size + 1)
    """


EQUAL = "class Equal:\n    def __eq__(self, other):\n        return True\n"


def both(*lines: str) -> object:
    body = "".join(f"        {line}\n" for line in lines)
    return run(f"{MIXED}\n    def run():\n{body}")


def test_methods_follow_the_resolution_order_through_mixins() -> None:
    # Both, Left, Right, Mixin, Base: Left's super() is Right's, although Left knows only Base.
    assert both("return Both(1).name()") == ["left", "right", "mixin", "mixin"]


@pytest.mark.parametrize(
    ("lines", "value"),
    [
        (["return Both(1).size"], 2),
        (["return Both(1).kind, Left(1).kind"], ("mixin", "base")),
        (["b = Base(3)", "b.double = 10", "return b.size, b.double"], (5, 10)),
        (["return type(Right.make(1)).__name__, Base.twice('a')"], ("Right", "aa")),
        (["Left.kind = 'set'", "return Left(1).kind, Base.kind"], ("set", "base")),
        (["b = Base(1)", "b.kind = 'own'", "return b.kind, Base.kind"], ("own", "base")),
        (["return isinstance(Both(1), Mixin), issubclass(Left, Mixin)"], (True, False)),
        (["return [c.__name__ for c in Both.__mro__]"], ["Both", "Left", "Right", "Mixin", "Base"]),
    ],
)
def test_attributes(lines: list[str], value: object) -> None:
    assert both(*lines) == value


def test_a_class_attribute_that_one_side_sets_is_looked_up_further_on_the_other() -> None:
    """Set on a class below, where its own body has none: without it the base's value stands."""
    text = """
        class A:
            made = 0
        class B(A):
            pass
        def run(c):
            if c:
                B.made = 1
            return B.made
        """
    assert sorted(options_of(run(text, UNKNOWN))) == [0, 1]


def test_getattr_of_a_class_is_asked_for_what_is_missing_and_may_refuse() -> None:
    text = """
        class Config:
            def __init__(self, values):
                self.values = values
            def __getattr__(self, name):
                if name in self.values:
                    return self.values[name]
                raise AttributeError(name)
        def run():
            c = Config({"width": 3})
            return c.width, getattr(c, "depth", 9), hasattr(c, "depth")
        """
    assert run(text) == (3, 9, False)


def test_operators_and_containers_as_the_class_defines_them() -> None:
    text = """
        class Row:
            def __init__(self, items): self.items = items
            def __len__(self): return len(self.items)
            def __getitem__(self, key): return self.items[key]
            def __contains__(self, item): return item in self.items
            def __iter__(self): return iter(self.items)
            def __add__(self, other): return self.items + other.items
            def __eq__(self, other): return self.items == other.items
            def __call__(self, step): return self.items[::step]
        def run():
            a, b = Row([1, 2, 3]), Row([])
            return len(a), a[-1], 2 in a, list(a), a + a, a == Row([1, 2, 3]), bool(b), a(2)
        """
    assert run(text) == (3, 3, True, [1, 2, 3], [1, 2, 3, 1, 2, 3], True, False, [1, 3])


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("Plain()[0]", "Plain object is not subscriptable"),
        ("list(Plain())", "Plain object is not iterable"),
        ("[*Plain]", "class Plain is not iterable"),
        ("{**Plain()}", "argument after ** must be a mapping"),
        ("Plain + 1", "unsupported operand types for +"),
        ("Plain() + 1", "unsupported operand types for add"),
        ("{Equal(): 1}", "unhashable type: <Equal>"),
        ("-Plain()", "bad operand type for unary -"),
        ("Plain(1)", "Plain() takes no arguments"),
    ],
)
def test_what_a_plain_class_cannot_do_is_a_type_error(expression: str, message: str) -> None:
    with pytest.raises(Raised) as caught:
        run(f"class Plain:\n    pass\n{EQUAL}def run():\n    return {expression}\n")
    assert (caught.value.error.name, caught.value.error.message) == ("TypeError", message)


def test_a_base_outside_the_tree_leaves_open_what_it_brings() -> None:
    text = """
        import torch
        class M(torch.nn.Module):
            width = 2
        def run():
            return M().width, M().depth
        """
    width, depth = run(text)
    assert width == 2
    assert reason(depth) == "<M> may have an attribute depth (m.py:6)"


def test_an_object_in_a_class_s_body_is_told_its_name() -> None:
    text = """
        import os
        class Field:
            def __init__(self, default):
                self.default = default
            def __set_name__(self, owner, name):
                self.name = name
                self.owner = owner.__name__
            def get(self):
                return os.getenv(self.name) or self.default
        class Number(Field):
            pass
        class Fields:
            DEPTH = Number(3)
            NAME = Field("none")
        fields = Fields()
        def run():
            return fields.DEPTH.name, fields.DEPTH.owner, fields.DEPTH.get(), Fields.NAME.name
        """
    assert run(text) == ("DEPTH", "Fields", 3, "NAME")


def test_a_class_among_its_own_bases_ends() -> None:
    text = "class A(B):\n    x = 1\nclass B(A):\n    y = 2\ndef run():\n    return A.x, A.y, B.x\n"
    assert run(text) == (1, 2, 1)
