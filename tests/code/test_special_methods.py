"""What a class says about its objects, and about itself, by methods that Python calls."""

import pytest

from investigator.code.values import Unknown
from tests.code.running import run

A = "class A:\n    "
CASES = [
    # attributes
    (
        "def __setattr__(self, k, v): object.__setattr__(self, '_' + k, v)",
        "a.h = 3\nreturn a._h, hasattr(a, 'h')",
        (3, False),
    ),
    (
        "def __setattr__(self, k, v): super().__setattr__(k, v * 2)",
        "a.h = 3\nreturn a.h, vars(a)",
        (6, {"h": 6}),
    ),
    ("def __delattr__(self, k): self.gone = k", "a.h = 3\ndel a.h\nreturn a.gone, a.h", ("h", 3)),
    (
        "def __getattribute__(self, k): return 5 if k == 'x' else super().__getattribute__(k)",
        "a.y = 1\nreturn a.x, a.y",
        (5, 1),
    ),
    (
        "def __getattribute__(self, k): raise AttributeError\n    def __getattr__(self, k): return k + '!'",
        "return a.x",
        "x!",
    ),
    (
        "@property\n    def p(self): return self._p\n    @p.setter\n    def p(self, v): self._p = v + 1\n"
        "    def __setattr__(self, k, v): object.__setattr__(self, k, v)",
        "a.p = 1\nreturn a.p",
        2,
    ),
    # operators
    (
        "x = 0\n    def __iadd__(self, o):\n        self.x += o\n        return self",
        "b = a\na += 3\nreturn b.x, a is b",
        (3, True),
    ),
    (
        "def __ior__(self, o): return NotImplemented\n    def __or__(self, o): return 'or'",
        "a |= 1\nreturn a",
        "or",
    ),
    (
        "def __add__(self, o): return 'A'\n    def __radd__(self, o): return 'rA'",
        "return a + 1, 1 + a, sum([a])",
        ("A", "rA", "rA"),
    ),
    # text
    (
        "def __format__(self, spec): return f'<{spec}>'\n    def __str__(self): return 's'",
        "return f'{a}', f'{a:x}', f'{a!s}', str(a)",
        ("<>", "<x>", "s", "s"),
    ),
    # the class as an object
    ("def __class_getitem__(cls, item): return cls.__name__, item", "return A[3]", ("A", 3)),
]


@pytest.mark.parametrize(("methods", "body", "value"), CASES)
def test_methods_that_python_calls(methods: str, body: str, value: object) -> None:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    assert run(f"{A}{methods}\ndef run():\n    a = A()\n{lines}\n") == value


def test_a_lower_classes_reflected_operator_comes_first() -> None:
    text = (
        "class A:\n    def __add__(self, o): return 'A'\nclass B(A):\n    def __radd__(self, o): return 'B'\n"
    )
    assert run(f"{text}def run():\n    return A() + B(), B() + A(), A() + A()\n") == ("B", "A", "A")


@pytest.mark.parametrize(
    ("head", "expression", "value"),
    [
        (
            "def mark(cls):\n    cls.extra = 5\n    return cls\n@mark\nclass A: pass\n",
            "A.extra, A().extra",
            (5, 5),
        ),
        (
            "def swap(cls):\n    class B(cls): y = 2\n    return B\n@swap\nclass A: x = 1\n",
            "A.y, A().x",
            (2, 1),
        ),
        (
            "def add(n):\n    def mark(cls):\n        cls.n = n\n        return cls\n    return mark\n"
            "@add(4)\nclass A: pass\n",
            "A.n",
            4,
        ),
    ],
)
def test_decorated_classes(head: str, expression: str, value: object) -> None:
    assert run(f"{head}def run():\n    return {expression}\n") == value


def test_a_class_that_is_decorated_inside_a_function() -> None:
    text = """
        def mark(cls):
            cls.extra = 5
            return cls
        def run():
            @mark
            class A:
                pass
            return A().extra
        """
    assert run(text) == 5


def test_abstract_classes_make_no_objects() -> None:
    text = """
        import abc
        class A(abc.ABC):
            @abc.abstractmethod
            def f(self): return 1
        class B(A):
            def f(self): return 2
        def run():
            try:
                return A().f()
            except TypeError:
                return B().f()
        """
    assert run(text) == 2


@pytest.mark.parametrize(
    ("head", "expression"),
    [
        ("class D(dict): pass\n", "D(a=1)['a']"),
        ("class D(dict): pass\n", "len(D(a=1))"),
        ("class D(dict): pass\n", "bool(D())"),
        ("class D(list): pass\n", "D([1]) == [1]"),
        ("class D(str): pass\n", "D('a') + 'b'"),
        ("class D(str): pass\n", "{D('a'): 1}['a']"),
        ("class M(type):\n    def __call__(cls): return 7\nclass D(metaclass=M): pass\n", "D()"),
        ("class M(type):\n    def __init__(cls, *a): cls.z = 1\nclass D(metaclass=M): pass\n", "D.z"),
        ("class P:\n    def __init_subclass__(cls): cls.z = 1\nclass D(P): pass\n", "D.z"),
        (
            "class D:\n    one = None\n    def __new__(cls):\n        if cls.one is None:\n"
            "            cls.one = super().__new__(cls)\n        return cls.one\n",
            "D() is D()",
        ),
        ("import functools\n@functools.singledispatch\ndef f(x): return 1\n", "f(2)"),
        ("from typing import NamedTuple\nclass D(NamedTuple):\n    x: int\n", "D(1)._replace(x=2)"),
    ],
)
def test_what_is_decided_outside_the_subset_is_unknown(head: str, expression: str) -> None:
    assert isinstance(run(f"{head}def run():\n    return {expression}\n"), Unknown)


def test_a_list_put_into_an_object_below_dict_may_be_changed_through_it() -> None:
    text = """
        class D(dict):
            pass
        def run():
            x = []
            d = D()
            d['k'] = x
            d['k'].append(1)
            return x
        """
    [item] = run(text)
    assert item.spread


def test_a_list_that_lower_classes_add_to_is_not_known() -> None:
    text = """
        class A:
            kinds = []
            def __init_subclass__(cls):
                A.kinds.append(cls.__name__)
        class B(A): pass
        def run():
            return A.kinds
        """
    [item] = run(text)
    assert item.spread
