"""Fills the templates of ``grammar``, and makes what needs names of its own."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TypeVar

from tests.code.random_programs.choices import Choices, chance, one_of
from tests.code.random_programs.grammar import EXPRESSIONS, LITERALS, SIMPLE, VARIABLES

T = TypeVar("T")
PARAMETERS = {
    "a": "int",
    "b": "int",
    "flag": "bool",
    "word": "str",
    "xs": "list",
    "ys": "list",
    "table": "dict",
    "thing": "opt",
}
"""The parameters of ``run``, and what each holds."""
_HOLE = re.compile(r"\$(\w+)")
_DEEPEST = 4
_ODD_ONE_OUT = 300
"""Once in so many times an expression is of another kind than is asked for."""


@dataclass
class Maker:
    """Writes the body of one function, line by line."""

    choices: Choices
    kinds: dict[str, str] = field(default_factory=lambda: dict(PARAMETERS))
    """The variables that are (mostly) set here, and what each holds."""
    lines: list[str] = field(default_factory=list)
    in_order: bool = True
    """Whether nothing depends on the order of a set, which Python leaves open."""
    statements_left: int = 25
    names: int = 0

    def pick(self, *options: T) -> T:
        """One of the options."""
        return one_of(self.choices, options)

    def chance(self, percent: int) -> bool:
        """True about so often."""
        return chance(self.choices, percent)

    def new_name(self, stem: str) -> str:
        """A name that is not taken; no variable before it is bound."""
        self.names += 1
        return f"{stem}{self.names}"

    # -- expressions -------------------------------------------------------------------

    def expression(self, kind: str, depth: int = 2) -> str:
        """An expression of a kind, with so many expressions inside each other; once in a while of
        another kind, in parentheses: ``del (a < b).extra`` is Python, ``del a < b.extra`` is not."""
        if kind in VARIABLES and self.choices.below(_ODD_ONE_OUT) == _ODD_ONE_OUT - 1:
            return f"({self.of_kind(self.pick(*VARIABLES), depth)})"
        return self.of_kind(kind, depth)

    def of_kind(self, kind: str, depth: int) -> str:
        """An expression of this kind."""
        variable = self.variable(kind) if kind in VARIABLES else None
        if variable is not None and (depth <= 0 or self.chance(45)):
            return variable
        if depth <= 0 or kind not in EXPRESSIONS:
            return self.filled(self.pick(*LITERALS[kind]), 0)
        return self.filled(self.pick(*EXPRESSIONS[kind]), depth - 1)

    def variable(self, kind: str) -> str | None:
        """A variable of a kind, where there is one."""
        names = sorted(name for name, known in self.kinds.items() if known == kind)
        return self.pick(*names) if names else None

    def filled(self, template: str, depth: int) -> str:
        """A template with its holes filled; variables that it assigns are new only after it."""
        parts = _HOLE.split(template)
        holes = range(1, len(parts), 2)
        for number in sorted(holes, key=lambda n: parts[n].startswith("to_")):
            parts[number] = self.hole(parts[number], depth)
        return "".join(parts)

    def hole(self, name: str, depth: int) -> str:
        """What stands in one hole."""
        if name.startswith("to_"):
            return self.target(name.removeprefix("to_"))
        if name.startswith("var_"):
            kind = name.removeprefix("var_")
            return self.variable(kind) or self.expression(kind, 0)
        if name == "walrus":
            return f"({self.new_name('w')} := {self.expression('int', depth)})"
        if name in ("generator", "conditions"):
            return self.generator("int" if name == "generator" else "bool", depth)
        return self.expression(name, depth)

    def target(self, kind: str) -> str:
        """A variable to assign: an old one of the kind, or a new one."""
        old = self.variable(kind)
        if old is not None and self.chance(60):
            return old
        name = self.new_name("v")
        self.kinds[name] = kind
        return name

    def generator(self, kind: str, depth: int) -> str:
        """A generator expression, without its parentheses."""
        item = self.new_name("i")
        outer, self.kinds = self.kinds, {**self.kinds, item: "int"}
        body = self.expression(kind, depth - 1)
        condition = f" if {self.expression('bool', depth - 1)}" if self.chance(50) else ""
        self.kinds = outer
        return f"{body} for {item} in {self.expression('items', depth)}{condition}"

    # -- statements --------------------------------------------------------------------

    def put(self, indent: int, text: str) -> None:
        """One line."""
        self.lines.append("    " * indent + text)

    def block(self, indent: int, size: int, *, in_loop: bool = False) -> None:
        """Some statements; what they bind may be used by later ones."""
        before = len(self.lines)
        for _ in range(1 + self.choices.below(size)):
            if self.statements_left > 0:
                self.statements_left -= 1
                self.statement(indent, in_loop=in_loop)
        if len(self.lines) == before:
            self.put(indent, "pass")

    def scoped(self, indent: int, size: int, *, in_loop: bool = False) -> None:
        """A block whose new variables are (mostly) not relied on afterwards."""
        outer = dict(self.kinds)
        self.block(indent, size, in_loop=in_loop)
        if not self.chance(15):
            self.kinds = {name: kind for name, kind in self.kinds.items() if name in outer}

    def statement(self, indent: int, *, in_loop: bool) -> None:
        """One statement: half of them of one line."""
        if self.chance(50) or indent >= _DEEPEST:
            self.put(indent, self.filled(self.pick(*SIMPLE), 2))
            return
        match self.choices.below(15):
            case 0 | 1 | 2:
                self.condition(indent, in_loop=in_loop)
            case 3 | 4:
                self.for_loop(indent)
            case 5:
                self.while_loop(indent)
            case 6:
                self.attempt(indent, in_loop=in_loop)
            case 7:
                self.inner_function(indent)
            case 8:
                self.context(indent, in_loop=in_loop)
            case 9:
                self.match(indent, in_loop=in_loop)
            case 10:
                self.delete(indent)
            case 11:
                self.generator_function(indent)
            case 12:
                self.decorated_function(indent)
            case _:
                self.put(indent, f"if {self.expression('bool', 1)}:")
                self.put(indent + 1, self.way_out(in_loop=in_loop))

    def way_out(self, *, in_loop: bool) -> str:
        """A statement that leaves the block."""
        kind = self.pick("int", "list", "str", "obj")
        ways = [f"return {self.expression(kind, 1)}", f"raise {self.expression('exception')}"]
        return self.pick(*ways, *(["break", "continue"] if in_loop else []))

    def delete(self, indent: int) -> None:
        """``del`` of a variable."""
        name = self.variable(self.pick("int", "list"))
        if name is None or name in PARAMETERS:
            self.put(indent, "pass")
        else:
            self.put(indent, f"del {name}")
            self.kinds.pop(name)

    def condition(self, indent: int, *, in_loop: bool) -> None:
        """``if``, ``elif``, ``else``."""
        self.put(indent, f"if {self.expression('bool')}:")
        self.scoped(indent + 1, 2, in_loop=in_loop)
        if self.chance(25):
            self.put(indent, f"elif {self.expression('bool')}:")
            self.scoped(indent + 1, 2, in_loop=in_loop)
        if self.chance(50):
            self.put(indent, "else:")
            self.scoped(indent + 1, 2, in_loop=in_loop)

    def for_loop(self, indent: int) -> None:
        """``for``, sometimes with ``else``."""
        outer = dict(self.kinds)
        item, other = self.new_name("n"), self.new_name("n")
        items = [self.expression("list", 1), self.expression("list", 1)]
        head, kinds = self.pick(
            (f"{item} in {self.expression('items', 1)}", {item: "int"}),
            (f"{item} in {items[0]}", {item: "int"}),
            (f"{other}, {item} in enumerate({items[0]})", {item: "int", other: "int"}),
            (f"{other}, {item} in enumerate({items[0]}, start=1)", {item: "int", other: "int"}),
            (f"{other}, {item} in zip({items[0]}, {items[1]})", {item: "int", other: "int"}),
            (f"{other}, {item} in list({self.expression('dict', 1)}.items())", {other: "str", item: "int"}),
            (f"{other} in {self.expression('dict', 1)}", {other: "str"}),
            (f"{other}, {item} in {self.expression('dict', 1)}.items()", {other: "str", item: "int"}),
            (f"{item} in {self.filled('sorted($set)' if self.in_order else '$set', 1)}", {item: "int"}),
        )
        self.kinds.update(kinds)
        self.put(indent, f"for {head}:")
        self.block(indent + 1, 3, in_loop=True)
        self.kinds = {name: kind for name, kind in self.kinds.items() if name in outer}
        if self.chance(20):
            self.put(indent, "else:")
            self.scoped(indent + 1, 2)

    def while_loop(self, indent: int) -> None:
        """``while``, with a counter of its own."""
        counter = self.new_name("k")
        self.put(indent, f"{counter} = 0")
        self.put(indent, f"while {counter} < {1 + self.choices.below(3)} and {self.expression('bool', 1)}:")
        self.put(indent + 1, f"{counter} += 1")
        outer = dict(self.kinds)
        self.block(indent + 1, 2, in_loop=True)
        self.kinds = outer
        if self.chance(20):
            self.put(indent, "else:")
            self.scoped(indent + 1, 1)

    def attempt(self, indent: int, *, in_loop: bool) -> None:
        """``try``, ``except``, ``else``, ``finally``."""
        self.put(indent, "try:")
        self.scoped(indent + 1, 3, in_loop=in_loop)
        if self.chance(40):
            self.put(indent + 1, self.filled(self.pick("risky($int)", "raise Odd('o')", "{}['k']"), 1))
        handlers = self.choices.below(3)
        for _ in range(handlers):
            name = self.new_name("e") if self.chance(40) else ""
            self.put(indent, f"except {self.expression('caught')}{f' as {name}' if name else ''}:")
            if name and self.chance(50):
                self.put(indent + 1, f"{self.target('str')} = type({name}).__name__")
            self.scoped(indent + 1, 2, in_loop=in_loop)
            if self.chance(15):
                self.put(indent + 1, self.pick("raise", "raise KeyError('again') from None"))
        if handlers and self.chance(25):
            self.put(indent, "else:")
            self.scoped(indent + 1, 2, in_loop=in_loop)
        if not handlers or self.chance(25):
            self.put(indent, "finally:")
            self.scoped(indent + 1, 2)

    def inner_function(self, indent: int) -> None:
        """A closure, called once or twice; some of them generators."""
        name, parameter = self.new_name("f"), self.new_name("p")
        outer = dict(self.kinds)
        self.put(indent, f"def {name}({parameter}, {parameter}d={self.expression('int', 1)}):")
        outside = self.variable("int")
        if indent == 1 and self.chance(40) and outside is not None and outside not in PARAMETERS:
            self.put(indent + 1, f"nonlocal {outside}")
            self.put(indent + 1, f"{outside} += {parameter}")
        self.kinds.update({parameter: "int", f"{parameter}d": "int"})
        yields = self.chance(25)
        if self.chance(50):
            self.put(indent + 1, f"{self.variable('list')}.append({parameter})")
        if self.chance(40):
            self.put(indent + 1, f"if {self.expression('bool', 1)}:")
            self.put(indent + 2, f"{'yield' if yields else 'return'} {self.expression('int', 1)}")
        self.put(indent + 1, f"{'yield' if yields else 'return'} {self.expression('int', 1)}")
        self.kinds = outer
        for _ in range(1 + self.choices.below(2)):
            call = f"{name}({self.expression('int', 1)})"
            self.put(indent, f"{self.target('int')} = {f'sum({call})' if yields else call}")

    def generator_function(self, indent: int) -> None:
        """A generator that changes what others see, used up by several users."""
        name, parameter, item = self.new_name("g"), self.new_name("p"), self.new_name("q")
        outer = dict(self.kinds)
        self.put(indent, f"def {name}({parameter}):")
        outside = self.variable("int")
        if indent == 1 and outside is not None and outside not in PARAMETERS:
            self.put(indent + 1, f"nonlocal {outside}")
            self.put(indent + 1, f"{outside} += 1")
        self.kinds.update({parameter: "list", item: "int"})
        self.put(indent + 1, f"for {item} in {parameter}:")
        if self.chance(50):
            self.put(indent + 2, f"if {self.expression('bool', 1)}:")
            self.put(indent + 3, self.pick("continue", "break", "return", f"yield {item}"))
        guarded = self.chance(30) and not self.in_order  # what is changed then is not known
        if guarded:
            self.put(indent + 2, self.pick("try:", f"with Guard({self.variable('list')}, True):"))
        self.put(indent + 2 + guarded, f"yield {self.expression('int', 1)}")
        if guarded and "try" in self.lines[-2]:
            self.put(indent + 2, "except KeyError:")
            self.put(indent + 3, f"yield {item}")
        self.put(indent + 2, f"{self.variable('list')}.append({item})")
        if self.chance(30):
            self.put(indent + 1, f"yield from {self.expression('items', 1)}")
        self.kinds = outer
        given = f"{name}({self.expression('list', 1)})"
        match self.choices.below(4):
            case 0:
                self.put(indent, f"for {item} in {given}:")
                self.block(indent + 1, 2, in_loop=True)
            case 1:
                made = self.new_name("g")
                self.put(indent, f"{made} = {given}")
                self.put(indent, f"{self.target('int')} = next({made}, {self.expression('int', 1)})")
                self.put(indent, f"{self.target('list')} = {self.pick(f'list({made})', f'[*{made}]')}")
            case 2:
                self.put(indent, f"{self.target('list')} = [q for q in {given} if q]")
            case _:
                self.put(indent, f"{self.target('int')} = next({given}, 0)")

    def decorated_function(self, indent: int) -> None:
        """A closure around another, with state of its own."""
        mark, name, state = self.new_name("d"), self.new_name("f"), self.new_name("s")
        self.put(indent, f"def {mark}(function, {state}=0):")
        self.put(indent + 1, "@functools.wraps(function)")
        self.put(indent + 1, "def inner(*args, **kwargs):")
        self.put(indent + 2, f"nonlocal {state}")
        self.put(indent + 2, f"{state} += 1")
        self.put(indent + 2, f"return function(*args, **kwargs) + {state}")
        self.put(indent + 1, "return inner")
        self.put(indent, f"@{mark}")
        self.put(indent, f"def {name}(p, *rest, q={self.expression('int', 1)}, **more):")
        self.put(indent + 1, f"return p + len(rest) * q + {self.expression('int', 1)} + len(more)")
        calls = ("{0}({1})", "{0}({1}, {1}, q=2)", "{0}(*[1, {1}], **{{'z': 3}})", "{0}(p={1})")
        for _ in range(2):
            call = self.pick(*calls).format(name, self.expression("int", 1))
            self.put(indent, f"{self.target('int')} = {call}")

    def context(self, indent: int, *, in_loop: bool) -> None:
        """``with``: of the program's own class or generator, or ``suppress``."""
        context = self.pick(
            f"Guard({self.variable('list')}, {self.expression('bool', 1)})",
            f"counted({self.expression('int', 1)})",
            f"changed({self.expression('conf', 1)}, {self.expression('int', 1)})",
            f"changed({self.variable('conf') or 'Config()'}, 3), Guard({self.variable('list')}, False)",
            f"contextlib.suppress({self.pick('ValueError', 'KeyError, IndexError', 'Exception')})",
        )
        self.put(indent, f"with {context}:")
        self.scoped(indent + 1, 2, in_loop=in_loop)

    def match(self, indent: int, *, in_loop: bool) -> None:
        """``match`` over a number, a text, a list or an object."""
        kind = self.pick("int", "opt", "str", "list", "obj", "conf")
        self.put(indent, f"match {self.expression(kind, 1)}:")
        name = self.new_name("m")
        cases = {
            "int": ("0 | 1 | 4", "-1", f"{name} if {self.expression('bool', 1)}"),
            "opt": ("None", "1 | 2", f"{name} if {self.expression('bool', 1)}"),
            "str": ("'a' | 'one'", "Mode.FAST", "''"),
            "list": (
                "[]",
                f"[{name}]",
                f"[{name}, *_]",
                "[1, _]",
                "[_, *_] if $bool",
                f"[1 | 2 as {name}, *_]",
            ),
            "conf": ("Box(size=1)", f"Config(size={name}) if {name} > 2", "Box()"),
            "obj": ("Blend()", "Derived()", "Base()"),
        }
        for case in cases[kind]:
            if self.chance(60):
                self.put(indent + 1, f"case {self.filled(case, 1)}:")
                self.scoped(indent + 2, 1, in_loop=in_loop)
        self.put(indent + 1, "case _:")
        self.scoped(indent + 2, 1, in_loop=in_loop)
