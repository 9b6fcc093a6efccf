"""How control flows: comprehensions, loops, early returns, exceptions, and undecided conditions."""

import pytest

from investigator.code.values import Raised, Unknown
from tests.code.running import UNKNOWN, call, interpreter, options_of, reason, run


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("[i + 1 for i in ids]", [2, 5, 10]),
        ("[i for i in ids if i > 1]", [4, 9]),
        ("[(n, i) for n, i in enumerate(ids)]", [(0, 1), (1, 4), (2, 9)]),
        ("[i for i in islice(ids, 1, None)]", [4, 9]),
        ("list(islice(ids, 0, 3, 2))", [1, 9]),
        ("{str(i): i for i in ids}", {"1": 1, "4": 4, "9": 9}),
        ("{i % 2 for i in ids}", {0, 1}),
        ("sum(i for i in range(4))", 6),
        ("[a * b for a in (1, 2) for b in ids if b != 4]", [1, 9, 2, 18]),
        ("next(i for i in ids if i > 3)", 4),
        ("any(i == 9 for i in ids), all(i > 1 for i in ids)", (True, False)),
        ("dict(zip('abc', ids))", {"a": 1, "b": 4, "c": 9}),
        ("[x for row in [ids, ids[:1]] for x in row]", [1, 4, 9, 1]),
        ("list(map(lambda i: i * 2, filter(None, [0, *ids])))", [2, 8, 18]),
        ("list(chain(ids, range(2)))", [1, 4, 9, 0, 1]),
        ("sorted(ids, key=lambda i: -i)", [9, 4, 1]),
    ],
)
def test_comprehensions_and_iterators(expression: str, value: object) -> None:
    text = f"from itertools import chain, islice\ndef run(ids):\n    return {expression}\n"
    assert run(text, [1, 4, 9]) == value


def test_loops_break_continue_and_else() -> None:
    text = """
        def run(ids):
            kept, found = [], None
            for number, item in enumerate(ids):
                if item < 0:
                    continue
                if item == 9:
                    found = number
                    break
                kept.append(item)
            else:
                found = "none"
            while len(kept) < 4:
                kept += [0]
            return kept, found
        """
    assert run(text, [1, -1, 9, 5]) == ([1, 0, 0, 0], 2)
    assert run(text, [1, 2]) == ([1, 2, 0, 0], "none")


def test_a_dict_is_gone_through_as_its_values_change() -> None:
    text = """
        def run(d):
            seen = []
            for k, v in d.items():
                seen.append(v)
                d['z'] = 7
            return seen
        """
    assert run(text, {"a": 1, "z": 2}) == [1, 7]


def test_a_generator_gives_its_items_one_by_one() -> None:
    text = """
        def squares(stop):
            for number in range(stop):
                yield number * number
        def run():
            numbers = squares(4)
            return next(numbers), list(numbers)
        """
    assert run(text) == (0, [1, 4, 9])


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        # The grammar takes a star that stands first for a part of what follows it.
        ("[*double(ids)]", [1, 4, 1, 4]),
        ("[*ids[1:], *ids]", [4, 1, 4]),
        ("{*double(ids), 9}", {1, 4, 9}),
        ("[*ids or [3]]", [1, 4]),
        ("[*ids + [2]]", [1, 4, 2]),
        ("[*ids.copy()]", [1, 4]),
        ("(*double(ids), 0)", (1, 4, 1, 4, 0)),
        ("'%(k)s-%(n)03d' % {'k': 'a', 'n': ids[0]}", "a-001"),
        ("issubclass(Odd, Exception), issubclass(Odd, KeyError)", (True, False)),
    ],
)
def test_expressions_that_are_easily_misread(expression: str, value: object) -> None:
    text = "class Odd(ValueError): pass\ndef double(x):\n    return x * 2\n"
    assert run(f"{text}def run(ids):\n    return {expression}\n", [1, 4]) == value


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        ("{}[1:2]", "TypeError" if slice.__hash__ is None else "KeyError"),
        ("del {}.extra", "AttributeError"),
        ("del 'text'.extra", "AttributeError"),
        ("getattr([], 1)", "TypeError"),
        ("abs([1])", "TypeError"),
    ],
)
def test_what_plain_values_refuse(statement: str, error: str) -> None:
    with pytest.raises(Raised, match=error):
        run(f"def run():\n    {statement}\n")


def test_which_items_a_slice_replaces_is_settled_first() -> None:
    text = """
        def both(seen):
            seen.append(9)
            yield 1
            yield len(seen)
        def run(xs):
            xs[0:] = both(xs)
            return xs
        """
    assert run(text, [5]) == [1, 2, 9]


# -- both sides of an undecided condition ----------------------------------------------


def test_both_sides_of_an_undecided_condition_are_followed() -> None:
    text = """
        def run(c):
            x = [1]
            if c:
                x.append(2)
                y = 3
            else:
                y = 4
            return x, y
        """
    xs, y = run(text, UNKNOWN)
    assert xs[0] == 1
    assert isinstance(xs[1], Unknown)
    assert xs[1].spread  # one more item, or none
    assert options_of(y) == [3, 4]


def test_an_early_return_on_one_side_joins_what_comes_later() -> None:
    text = "def run(c, d):\n    if c:\n        return 1\n    if d:\n        return 2\n    return 3\n"
    assert sorted(options_of(run(text, UNKNOWN, UNKNOWN))) == [1, 2, 3]
    assert run(text, False, True) == 2
    assert sorted(options_of(run(text, False, UNKNOWN))) == [2, 3]


def test_sides_that_agree_leave_nothing_open() -> None:
    text = "def run(c):\n    if c:\n        x = 1\n        return x\n    x = 1\n    return x\n"
    assert run(text, UNKNOWN) == 1


def test_a_side_that_raises_is_left_out_unless_something_catches_it() -> None:
    bare = "def run(c):\n    if c:\n        raise ValueError('no')\n    return 1\n"
    caught = """
        def run(c):
            try:
                if c:
                    raise ValueError('no')
                return 1
            except ValueError:
                return 2
        """
    assert run(bare, UNKNOWN) == 1
    assert sorted(options_of(run(caught, UNKNOWN))) == [1, 2]
    with pytest.raises(Raised, match="ValueError: no"):
        run(bare, True)


def test_more_than_four_choices_are_unknown() -> None:
    text = (
        "def run(c):\n"
        + "".join(f"    if c == {n}:\n        return {n}\n" for n in range(6))
        + "    return 9\n"
    )
    assert any(isinstance(option, Unknown) for option in options_of(run(text, UNKNOWN)))


def test_an_unknown_number_of_rounds() -> None:
    text = """
        def run(ids):
            seen = []
            for i in ids:
                seen.append('layer')
            return seen, len(seen)
        """
    seen, count = run(text, UNKNOWN)
    assert [item.spread for item in seen] == [True]
    assert reason(count).startswith("not given")


def test_a_list_that_is_changed_in_an_unknown_way_while_it_is_gone_through() -> None:
    text = """
        def run(c, xs):
            count = 0
            for x in xs:
                xs.insert(c, 7) if count < 1 else None
                count += 1
            return count
        """
    assert run(text, 0, [1, 2]) == 3
    assert isinstance(run(text, UNKNOWN, [1, 2]), Unknown)


def test_a_dict_that_may_have_grown_while_it_is_gone_through() -> None:
    text = """
        def run(c, d):
            seen = 0
            for key in d:
                for _ in c:
                    d.setdefault("z", 1)
                seen += 1
            return seen
        """
    assert run(text, [], {"a": 1}) == 1
    assert run(text, UNKNOWN, {"a": 1}) == 1  # where it grew, Python raises
    with pytest.raises(Raised, match="RuntimeError"):
        run(text, [1], {"a": 1, "b": 2})


def test_a_key_behind_keys_that_are_not_known_may_be_one_of_them() -> None:
    text = """
        def run(c):
            pairs = {"first": 0, **c, "a": 1}
            return list(pairs)[0], list(pairs.values())[-1], [key for key in pairs][-1]
        """
    assert run(text, {"b": 2}) == ("first", 1, "a")
    assert run(text, {"a": 5, "b": 2}) == ("first", 2, "b")
    first, last, key = run(text, UNKNOWN)
    assert isinstance(last, Unknown)
    assert isinstance(key, Unknown)
    assert first == "first"


# -- exceptions ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "value"),
    [
        ("raise ValueError('no')", ("ValueError", "no")),
        ("{}['key']", ("LookupError", "'key'")),
        ("{}[1]", ("LookupError", "1")),
        ("raise Odd('odd', 2)", ("ValueError", "('odd', 2)")),
        ("raise Odd", ("ValueError", "")),
        ("assert not [1], 'said'", ("Exception", "said")),
        ("return 'fine'", "fine"),
    ],
)
def test_which_handler_catches_and_what_the_error_says(body: str, value: object) -> None:
    text = f"""
        class Odd(ValueError):
            pass
        def run():
            try:
                {body}
            except LookupError as error:
                return "LookupError", str(error)
            except ValueError as error:
                return "ValueError", str(error)
            except Exception as error:
                return "Exception", str(error)
        """
    assert run(text) == value


def test_what_python_would_say_in_its_own_words_is_not_made_up() -> None:
    text = """
        def run():
            try:
                [].remove(1)
            except ValueError as error:
                return str(error)
        """
    assert reason(run(text)) == "how Python words a ValueError (m.py:4)"


def test_a_key_that_surely_misses_is_caught_by_the_first_handler_alone() -> None:
    """It is no operation on something unknown: nothing else may have been raised."""
    text = """
        def run():
            try:
                {}["k"]
            except KeyError:
                raise ValueError("from the handler")
            except LookupError:
                return 1
        """
    with pytest.raises(Raised, match="ValueError: from the handler"):
        run(text)


def test_finally_runs_on_every_way_out() -> None:
    text = """
        def run(ids, seen):
            try:
                return ids[0]
            except IndexError:
                seen.append("empty")
                return None
            finally:
                seen.append("out")
        """
    seen: list[str] = []
    assert run(text, [], seen) is None
    assert seen == ["empty", "out"]


def test_a_context_may_swallow_what_is_raised_inside() -> None:
    text = """
        class Guard:
            def __init__(self, kind): self.kind = kind
            def __enter__(self): return self
            def __exit__(self, kind, error, trace): return kind is self.kind
        def run(kind):
            with Guard(kind):
                raise KeyError("k")
            return "swallowed"
        """
    assert run(text.replace("Guard(kind)", "Guard(KeyError)"), None) == "swallowed"
    with pytest.raises(Raised, match="KeyError"):
        run(text, None)


def test_a_sort_that_fails_leaves_the_list_in_no_order_that_is_known() -> None:
    text = "def run(x):\n    try:\n        x.sort()\n    except TypeError:\n        return x\n"
    assert [reason(item) for item in run(text, [3, 1, "a"])] == ["a sort that ended in TypeError (m.py:3)"]


# -- match -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("subject", "value"),
    [
        (-1, "minus one or two"),
        (2, "minus one or two"),
        ("fast", "text fast"),
        ([1, 2, 3], ("row", [2, 3])),
        ([], "empty"),
        (None, "none"),
        (7, ("number", 7)),
        (3.5, "other"),
    ],
)
def test_match(subject: object, value: object) -> None:
    text = """
        def run(subject):
            match subject:
                case -1 | 2:
                    return "minus one or two"
                case str() as word:
                    return f"text {word}"
                case [1, *rest]:
                    return "row", rest
                case []:
                    return "empty"
                case None:
                    return "none"
                case int() if subject > 5:
                    return "number", subject
                case _:
                    return "other"
        """
    assert run(text, subject) == value


def test_match_of_a_class_with_attributes_and_a_pattern_that_binds_only_when_it_fits() -> None:
    text = """
        class Point:
            def __init__(self, x, y): self.x, self.y = x, y
        def run(point):
            y = "old"
            match point:
                case Point(x=0, y=y):
                    return "on the axis", y
                case [y, 1]:
                    return "row", y
                case Point():
                    return "point", y
                case _:
                    return "other", y
        def ask():
            return run(Point(0, 5)), run(Point(1, 5)), run([7, 1]), run([7, 2])
        """
    expected = (("on the axis", 5), ("point", "old"), ("row", 7), ("other", "old"))
    assert call(interpreter(text), "ask") == expected


def test_a_pattern_on_something_unknown_may_fit() -> None:
    text = """
        def run(x):
            match x:
                case 1:
                    return 'one'
                case _:
                    return 'other'
        """
    assert sorted(options_of(run(text, UNKNOWN))) == ["one", "other"]


def test_variables_of_paths_that_bound_them_in_different_orders_are_not_lost() -> None:
    text = """
        def run(c, d, ys):
            try:
                if c:
                    raise ValueError("no")
                missing(d)
            except ValueError:
                def first(p=d):
                    pass
            except Exception as error:
                def second(p=1):
                    pass
            return len(ys)
        """
    value = run(text, UNKNOWN, UNKNOWN, [])
    assert value == 0 or isinstance(value, Unknown)


def test_what_is_made_of_something_true_need_not_be_true() -> None:
    text = "def run(x):\n    y = x or 2\n    return bool(y), bool(y % 2), bool(y in [1]), not -y\n"
    known, *others = run(text, UNKNOWN)
    assert known is True
    assert not any(isinstance(other, bool) for other in others[:2])
