"""Generators stand still at each ``yield``; contexts made of them enter and leave."""

import pytest

from investigator.code.values import Raised, Unknown
from tests.code.compare import is_decided
from tests.code.running import UNKNOWN, options_of, run

DRIP = """
    def drip(xs, seen):
        for x in xs:
            seen.append(x)
            yield x
"""


@pytest.mark.parametrize(
    ("body", "value"),
    [
        ("return next(drip([1, 2, 3], seen)), seen", (1, [1])),
        ("return [len(seen) for x in drip([5, 6], seen)]", [1, 2]),
        ("for x in drip([1, 2, 3], seen):\n    if x == 2: break\nreturn seen", [1, 2]),
        ("g = drip([1, 2], seen)\nreturn list(g), list(g), seen", ([1, 2], [], [1, 2])),
        ("return list(zip(drip([1, 2, 3], seen), 'ab')), seen", ([(1, "a"), (2, "b")], [1, 2, 3])),
        ("return 2 in drip([1, 2, 3], seen), seen", (True, [1, 2])),
        ("for x in drip(seen, []):\n    if len(seen) < 3: seen.append(x)\nreturn seen", []),
    ],
)
def test_a_body_goes_on_only_as_far_as_it_is_asked(body: str, value: object) -> None:
    lines = "\n".join(f"        {line}" for line in body.splitlines())
    assert run(f"{DRIP}    def run():\n        seen = []\n{lines}\n") == value


def test_a_body_sees_what_was_changed_between_two_items() -> None:
    text = """
        def numbers(xs):
            number = 0
            while number < len(xs):
                yield xs[number]
                number += 1
        def run():
            xs = [1, 2]
            for x in numbers(xs):
                if len(xs) < 5:
                    xs.append(x)
            return xs
        """
    assert run(text) == [1, 2, 1, 2, 1]


def test_a_generator_inside_another() -> None:
    text = """
        def inner(n, seen):
            for i in range(n):
                seen.append(i)
                yield i
        def outer(seen):
            yield -1
            yield from inner(2, seen)
            try:
                yield int('x')
            except ValueError:
                seen.append('caught')
            else:
                seen.append('fine')
            yield len(seen)
        def run():
            seen = []
            g = outer(seen)
            first = next(g), next(g)
            return first, list(seen), list(g), seen
        """
    assert run(text) == ((-1, 0), [0], [1, 3], [0, 1, "caught"])


def test_an_object_that_is_its_own_iterator() -> None:
    text = """
        class Down:
            def __init__(self, n): self.n = n
            def __iter__(self): return self
            def __next__(self):
                if self.n <= 0:
                    raise StopIteration
                self.n -= 1
                return self.n
        def run():
            down = Down(3)
            return next(down), [x for x in down], down.n, list(Down(2)), next(Down(0), 5)
        """
    assert run(text) == (2, [1, 0], 0, [1, 0], 5)


# -- where control is not decided ------------------------------------------------------


def test_what_an_undecided_body_changes_on_the_way_is_not_known() -> None:
    text = """
        def drip(flag, seen):
            if flag:
                yield 1
            seen.append(2)
            yield 3
        def run(flag):
            seen = []
            first = next(drip(flag, seen))
            return first, seen
        """
    first, seen = run(text, UNKNOWN)
    assert isinstance(first, Unknown)
    assert [item.spread for item in seen] == [True]  # 2, or nothing yet
    assert run(text, True) == (1, [])
    assert run(text, False) == (3, [2])


def test_what_follows_an_undecided_condition_after_some_items() -> None:
    text = """
        def drip(flag, seen):
            yield 1
            if flag:
                seen.append(1)
                return
            seen.append(2)
            yield 3
        def run(flag):
            seen = []
            return list(drip(flag, seen)), seen
        """
    items, seen = run(text, UNKNOWN)
    assert items[0] == 1
    assert items[1].spread
    assert [item.spread for item in seen] == [True]


def test_an_item_taken_on_both_sides_of_a_condition() -> None:
    """The body cannot go on twice from one place: what it may change is not known then."""
    text = """
        def drip(seen):
            seen.append(1)
            yield 1
        def run(flag):
            seen = []
            g = drip(seen)
            if flag:
                next(g)
            else:
                next(g)
            return seen
        """
    [item] = run(text, UNKNOWN)
    assert item.spread


def test_an_undecided_body_that_raises_later_than_it_is_asked() -> None:
    text = """
        def drip(flag):
            if flag:
                yield 1
            yield int("x")
        def run(flag):
            return next(drip(flag))
        """
    assert run(text, True) == 1
    assert isinstance(run(text, UNKNOWN), Unknown)


# -- contexts --------------------------------------------------------------------------

SCOPE = """
    import contextlib
    tag = 'outer'
    @contextlib.contextmanager
    def scope(seen, swallow=False):
        global tag
        before, tag = tag, 'inner'
        seen.append('in')
        try:
            yield len(seen)
        except KeyError:
            if not swallow:
                raise
        finally:
            tag = before
            seen.append('out')
"""


@pytest.mark.parametrize(
    ("body", "value"),
    [
        ("seen.append(n)", ["in", 1, "out"]),
        ("return [*seen, tag]", ["in", "inner"]),
        (
            "try:\n    raise ValueError\nexcept ValueError:\n    seen.append('caught')",
            ["in", "caught", "out"],
        ),
    ],
)
def test_a_context_made_of_a_generator(body: str, value: object) -> None:
    lines = "\n".join(f"            {line}" for line in body.splitlines())
    head = "    def run():\n        seen = []\n        with scope(seen) as n:\n"
    assert run(f"{SCOPE}{head}{lines}\n        return seen\n") == value


def test_such_a_context_may_swallow_what_is_raised_inside() -> None:
    head = (
        "    def run(swallow):\n        seen = []\n        with scope(seen, swallow):\n            {}['k']\n"
    )
    text = f"{SCOPE}{head}        return seen\n"
    assert run(text, True) == ["in", "out"]
    with pytest.raises(Raised, match="KeyError"):
        run(text, False)


def test_such_a_context_left_on_two_paths() -> None:
    head = "    def run(flag):\n        seen = []\n        with scope(seen):\n"
    inside = "            if flag:\n                return 1, seen\n"
    [one, two] = options_of(run(f"{SCOPE}{head}{inside}        return 2, seen\n", UNKNOWN))
    assert {one[0], two[0]} == {1, 2}
    for _, seen in (one, two):
        assert "out" in seen or any(isinstance(item, Unknown) for item in seen)


def test_doubts_inside_such_a_context_reach_its_handlers() -> None:
    text = f"""{SCOPE}
    def run(config):
        seen = []
        with scope(seen, True):
            seen.append(config["k"])
        return seen
    """
    assert run(text, {"k": 5}) == ["in", 5, "out"]
    assert run(text, {}) == ["in", "out"]
    [first, *rest] = run(text, UNKNOWN)
    assert first == "in" or isinstance(first, Unknown)
    assert rest == [] or isinstance(rest[0], (Unknown, str))


# -- functions whose results are kept --------------------------------------------------

KEPT = """
    import functools
    calls = []
    @functools.{mark}
    def made(x, y=0):
        calls.append(x)
        return [x]
"""


@pytest.mark.parametrize(
    ("mark", "body", "value"),
    [
        ("cache", "made(1).append(2)\nreturn made(1), calls", ([1, 2], [1])),
        ("lru_cache", "made(1), made(1, y=0), made(1)\nreturn calls", [1, 1]),
        ("lru_cache(maxsize=1)", "made(1), made(2), made(1)\nreturn calls", [1, 2, 1]),
        ("lru_cache(maxsize=None)", "made(1), made(2), made(1)\nreturn calls", [1, 2]),
        ("lru_cache(maxsize=2)", "made(1), made(2), made(1), made(3), made(1)\nreturn calls", [1, 2, 3]),
        ("cache", "try:\n    made([])\nexcept TypeError:\n    return 'no key'", "no key"),
    ],
)
def test_a_function_whose_results_are_kept(mark: str, body: str, value: object) -> None:
    lines = "\n".join(f"        {line}" for line in body.splitlines())
    assert run(f"{KEPT.format(mark=mark)}    def run():\n{lines}\n") == value


def test_what_was_kept_under_an_unknown_key_is_not_known() -> None:
    text = f"{KEPT.format(mark='cache')}    def run(x):\n        a = made(1)\n        made(x).append(2)\n"
    [item] = run(f"{text}        return a\n", UNKNOWN)
    assert item.spread


# -- items taken, it is not known how many ---------------------------------------------

COUNT = """
    def drip(seen):
        for number in range(2):
            seen[0] += 1
            yield number

    def run(given, flag):
        seen = [0]
        g = {items}
        {statement}
        return seen
    """


@pytest.mark.parametrize("items", ["drip(seen)", "(x for x in drip(seen))", "map(abs, drip(seen))"])
@pytest.mark.parametrize(
    "statement",
    [
        "next(g) if flag else None; last = [*g]",
        "next(g) if flag else None; last = next(g, 0)",
        "given.extend(g)",
        "given[3:] = g",
        "given += g",
        "given(g)",
        "last = [x for x in (g if flag else [])]",
        "part = zip(g, g); given(part)",
        "part = enumerate(g); given(part)",
    ],
)
def test_what_a_generator_changes_is_open_where_it_is_open_how_far_it_came(
    items: str, statement: str
) -> None:
    [number] = run(COUNT.format(items=items, statement=statement), UNKNOWN, UNKNOWN)
    assert isinstance(number, Unknown)


def test_what_a_generator_expression_does_for_each_item_may_have_been_done() -> None:
    text = """
        def run(given):
            seen = [0]
            def note(x):
                seen[0] += 1
                return x
            given(note(x) for x in [1, 2])
            return seen
        """
    assert not is_decided(run(text, UNKNOWN))
    assert run(text.replace("note(x) for", "x + 1 for"), UNKNOWN) == [0]


def test_what_a_generator_expression_goes_through_is_asked_for_its_items_at_once() -> None:
    text = """
        def run():
            later = (x for x in 5)
            return 1
        """
    with pytest.raises(Raised, match="TypeError"):
        run(text)
