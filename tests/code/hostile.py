"""Source text that was written to break its reader, and what becomes of each.

What a case comes to is told in words: a value, ``unknown: why``, or the exception's name and text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from investigator.code.interpreter import Interpreter
from investigator.code.program import Program
from investigator.code.values import BudgetSpent, FunctionValue, Raised, Unknown
from investigator.errors import LimitError
from tests.code.trees import MemoryTree

NESTED = "BudgetSpent: nests too deeply"
STEPS = "BudgetSpent: more than 100,000 steps"
CALLS = "unknown: calls nest deeper than 24"
UNPARSED = "unknown: run holds text that could not be parsed"


@dataclass(frozen=True)
class Hostile:
    """A file ``m.py``, what ``m.run(...)`` comes to, with an unknown argument where it takes one."""

    name: str
    text: str | bytes
    outcome: str
    files: dict[str, bytes] = field(default_factory=dict)


def outcome(case: Hostile) -> str:
    """What it comes to. Raises nothing."""
    text = case.text if isinstance(case.text, bytes) else case.text.encode()
    interp = Interpreter(Program(MemoryTree({"m.py": text, **case.files})))
    try:
        module = interp.program.module("m")
        assert module is not None
        value = interp.global_name(module, "run")
        if isinstance(value, FunctionValue):
            takes_one = b"def run(u)" in text
            value = interp.enter(value, (Unknown("u"),) if takes_one else (), {})
    except BudgetSpent as error:
        # Which of the two it is depends on how deep the caller stands.
        return re.sub("(expressions|statements) and calls nest", "nests", f"BudgetSpent: {error}")
    except (Raised, LimitError) as error:
        return f"{type(error).__name__}: {error}"
    return told(value)


def told(value: Any) -> str:
    """A value in words."""
    if value is NotImplemented:
        return "no such name"
    return f"unknown: {value.reason}" if isinstance(value, Unknown) else repr(value)[:60]


def returning(expression: str) -> str:
    return f"def run():\n    return {expression}\n"


def of_unknown(expression: str) -> str:
    return f"def run(u):\n    return {expression}\n"


N = 10_000
DEEP = [
    Hostile("parentheses", returning("(" * 50_000 + "1" + ")" * 50_000), "1"),
    Hostile("open parentheses", returning("(" * 50_000), "no such name"),
    Hostile("brackets", returning("[" * N + "1" + "]" * N), NESTED),
    Hostile("calls", "def f(x):\n    return x\n" + returning("f(" * N + "1" + ")" * N), NESTED),
    Hostile("attributes", of_unknown("u" + ".a" * N), "unknown: u"),
    Hostile("subscripts", of_unknown("u" + "[0]" * N), NESTED),
    Hostile("operators", returning("1+" * N + "1"), "10001"),
    Hostile("powers", returning("1**" * N + "1"), NESTED),
    Hostile("and", of_unknown("u and " * N + "1"), NESTED),
    Hostile("not", of_unknown("not " * N + "u"), NESTED),
    Hostile("lambdas", returning("lambda: " * 5000 + "1"), "<function <lambda>>"),
    Hostile("conditions", of_unknown("1 if u else " * 5000 + "1"), NESTED),
    Hostile("f-strings", returning("f'{" * 50 + "1" + "}'" * 50), "'1'"),
    Hostile(
        "ifs",
        "def run(u):\n" + "".join(" " * (k + 1) + "if u:\n" for k in range(500)) + " " * 502 + "u = 1\n",
        NESTED,
    ),
    Hostile(
        "elifs",
        "def run(u):\n    if u == 0:\n        return 0\n"
        + "".join(f"    elif u == {k}:\n        return {k}\n" for k in range(3000)),
        NESTED,
    ),
    Hostile(
        "definitions",
        "def run():\n"
        + "".join(" " * (k + 1) + f"def f{k}():\n" for k in range(500))
        + " " * 502
        + "return 1\n",
        "None",
    ),
    Hostile("decorators", "def d(f):\n    return f\n" + "@d\n" * 5000 + returning("1"), "1"),
]
"""Things inside each other, or one after another without end."""

CIRCLES = [
    Hostile("a function", returning("run()"), CALLS),
    Hostile("two functions", "def a():\n    return run()\n" + returning("a()"), CALLS),
    Hostile(
        "imports",
        "from a import x as run\n",
        "unknown: x is defined in terms of itself",
        {"a.py": b"from b import x\n", "b.py": b"from a import x\n"},
    ),
    Hostile(
        "stars",
        "from a import *\n" + returning("nothing"),
        "Raised: NameError: name 'nothing' is not defined",
        {"a.py": b"from b import *\n", "b.py": b"from a import *\n"},
    ),
    Hostile(
        "bases",
        "class A(B):\n    pass\nclass B(A):\n    pass\n" + returning("A().x"),
        "Raised: AttributeError: <A> has no attribute 'x'",
    ),
    Hostile("its own base", "class A(A):\n    x = 1\n" + returning("A().x"), "1"),
    Hostile(
        "class attributes",
        "class A:\n    x = B.y\nclass B:\n    y = A.x\n" + returning("A.x"),
        "unknown: A.x is defined in terms of itself",
    ),
    Hostile(
        "properties",
        "class A:\n    @property\n    def x(self):\n        return self.y\n"
        "    @property\n    def y(self):\n        return self.x\n" + returning("A().x"),
        CALLS,
    ),
    Hostile(
        "__getattr__",
        "class A:\n    def __getattr__(self, name):\n        return getattr(self, name + 'x')\n"
        + returning("A().x"),
        CALLS,
    ),
    Hostile(
        "__getattr__ of a module",
        "import m\ndef __getattr__(name):\n    return getattr(m, name)\n" + returning("m.nothing"),
        CALLS,
    ),
    Hostile(
        "__eq__",
        "class A:\n    def __eq__(self, other):\n        return other == self\n" + returning("A() == A()"),
        CALLS,
    ),
    Hostile(
        "__iter__",
        "class A:\n    def __iter__(self):\n        return A()\n" + returning("list(A())"),
        "Raised: TypeError: A object is not an iterator",
    ),
    Hostile(
        "a list in itself",
        "def run():\n    x = []\n    x.append(x)\n    return x == x, x in x\n",
        "(True, True)",
    ),
    Hostile(
        "a generator", "def g(n):\n    yield n\n    yield from g(n + 1)\n" + returning("list(g(0))"), NESTED
    ),
]
"""What comes back to itself."""

LARGE = [
    Hostile("power", returning("10 ** 10 ** 10"), "unknown: ** would make something very large"),
    Hostile(
        "powers",
        "def run():\n    x = 2\n    for i in range(100):\n        x = x ** x\n    return x\n",
        "unknown: ** would make something very large",
    ),
    Hostile(
        "factorial",
        "def run():\n    x = 1\n    for i in range(1, 2000):\n        x *= i\n    return x\n",
        "unknown: * would make something very large",
    ),
    Hostile("shift", returning("1 << (1 << 40)"), "unknown: << would make something very large"),
    Hostile("pow", returning("pow(10, 10 ** 9)"), "unknown: a very large power"),
    Hostile("round", returning("round(5, -10 ** 9)"), "unknown: rounding to very many digits"),
    Hostile("digits", returning("9" * 5000), "unknown: a number of over 1,000 digits"),
    Hostile("text", returning("'a' * 10 ** 12"), "unknown: * would make something very large"),
    Hostile("list", returning("[0] * 10 ** 12"), "unknown: * would make something very large"),
    Hostile(
        "list in place",
        "def run():\n    x = [0]\n    x *= 10 ** 12\n    return len(x)\n",
        "unknown: * would make something very large",
    ),
    Hostile(
        "doubled text",
        "def run():\n    x = 'ab'\n    for i in range(100):\n        x = x + x\n    return x\n",
        "unknown: + would make something very large",
    ),
    Hostile(
        "doubled list",
        "def run():\n    x = [1]\n    while True:\n        x += x\n",
        "BudgetSpent: a list of over 1,000,000 items",
    ),
    Hostile("ljust", returning("'a'.ljust(10 ** 12)"), "unknown: a very long text"),
    Hostile("replace", returning("('a' * 90000).replace('a', 'b' * 90000)"), "unknown: a very long text"),
    Hostile("join", returning("','.join(['a' * 90000] * 90000)"), "unknown: a very long text"),
    Hostile("f-string", returning("f'{1:>1000000000000}'"), "unknown: formatted text"),
    Hostile("percent", returning("'%1000000000d' % 1"), "unknown: % formatting"),
    Hostile("format", returning("'{:>1000000000}'.format(1)"), "unknown: format"),
    Hostile("range", returning("range(10 ** 12)"), "unknown: a range that is very long"),
    Hostile(
        "a very long display",
        "x = [" + "1," * 200_000 + "]\n" + returning("x"),
        "BudgetSpent: a display of over 100,000 elements",
    ),
    Hostile(
        "shared lists",
        "def run():\n    x = [1]\n    for i in range(60):\n        x = [x, x]\n    return str(x)\n",
        "unknown: str() of something not followed",
    ),
    Hostile(
        "shared tuples",
        "def run():\n    x = 1,\n    for i in range(60):\n        x = x, x\n    return len({x: 1})\n",
        "unknown: a very large key",
    ),
]
"""Values that would not fit into memory."""

LONG = [
    Hostile(
        "rounds", "def run():\n    n = 0\n    for i in range(10 ** 6):\n        n += 1\n    return n\n", STEPS
    ),
    Hostile(
        "a while",
        "def run():\n    n = 0\n    while True:\n        n += 1\n    return n\n",
        "unknown: more than 10,000 rounds",
    ),
    Hostile("two calls each", "def run(n=0):\n    return run(n + 1) + run(n + 2)\n", STEPS),
    Hostile(
        "comprehensions", returning("[a for a in range(300) for b in range(300) for c in range(300)]"), STEPS
    ),
    Hostile(
        "shared and compared",
        "def run():\n    x, y = [1], [1]\n    for i in range(60):\n"
        "        x, y = [x, x], [y, y]\n    return x == y\n",
        STEPS,
    ),
    Hostile(
        "undecided ways through calls",
        "".join(
            f"def f{k}(u):\n    if u == {k}:\n        return f{k + 1}(u)\n    return f{k + 1}(u)\n"
            for k in range(16)
        )
        + "def f16(u):\n    return u\ndef run(u):\n    return f0(u)\n",
        STEPS,
    ),
    Hostile(
        "undecided loops",
        "def run(u):\n    n = 0\n"
        + "".join("    " * (k + 1) + f"for x{k} in u:\n" for k in range(12))
        + "    " * 13
        + "n += 1\n    return n\n",
        "unknown: u",
    ),
    Hostile(
        "changes of a large list",
        "def run(u):\n    x = [0] * 50000\n    for i in range(3000):\n"
        "        if u == i:\n            x[i] = 1\n    return len(x)\n",
        STEPS,
    ),
    Hostile("appends at the top", "x = []\n" + "x.append(1)\n" * 20000 + returning("len(x)"), STEPS),
    Hostile(
        "a chain of names",
        "x0 = 1\n" + "".join(f"x{k} = x{k - 1} + 1\n" for k in range(1, 3000)) + returning("x2999"),
        NESTED,
    ),
    Hostile(
        "a chain of classes",
        "class C0:\n    x = 1\n"
        + "".join(f"class C{k}(C{k - 1}):\n    pass\n" for k in range(1, 2000))
        + returning("C1999().x"),
        NESTED,
    ),
    Hostile(
        "many arguments", "def f(*a):\n    return len(a)\n" + returning("f(" + "1," * 100_000 + ")"), STEPS
    ),
]
"""Work without end; each ends with its budget after a second or two at most."""

STRANGE = [
    Hostile("NUL bytes", "def run():\n    return 1\x00\n\x00\x00x = 2\n", UNPARSED),
    Hostile("NUL in a name", "def ru\x00n():\n    return 1\n", "no such name"),
    Hostile(
        "latin-1",
        b"# -*- coding: latin-1 -*-\ndef run():\n    return '\xe9'\n",
        "unknown: text that is not UTF-8",
    ),
    Hostile("utf-16", returning("1").encode("utf-16"), "no such name"),
    Hostile("a byte order mark", b"\xef\xbb\xbf" + returning("1").encode(), "1"),
    Hostile("any bytes", bytes((i * 7919 + i * i) % 256 for i in range(30_000)), "no such name"),
    Hostile("nothing", b"", "no such name"),
    Hostile("an error inside", "def run():\n    x = = 3\n    return x\n", UNPARSED),
    Hostile("unfinished", "def run(:\n  class\n for x in", UNPARSED),
    Hostile(
        "pieces missing", "def run():\n    return [for x in] + {: } + (lambda) + f(*) + x[] + x.\n", UNPARSED
    ),
    Hostile("line ends of old", b"def run():\r    return 1\r", "1"),
    Hostile("tabs and form feeds", "\x0cdef run():\n\tif 1:\n\t\treturn 2\n", "2"),
    Hostile("other letters", "def run():\n    \u0434\u0430 = 1\n    return \u0434\u0430\n", "1"),
    Hostile(
        "one line of 10 MB",
        b"x = '" + b"a" * 10_000_000 + b"'\n",
        "LimitError: m.py is 10,000,007 bytes, more than 2,097,152",
    ),
    Hostile("100 MB", bytes(100_000_000), "LimitError: m.py is 100,000,000 bytes, more than 2,097,152"),
]
"""Bytes that are hardly Python."""

EVERYTHING = [*DEEP, *CIRCLES, *LARGE, *LONG, *STRANGE]
