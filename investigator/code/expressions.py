"""Expressions of the subset: ``evaluate`` gives each node a value, or ``Unknown``."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from tree_sitter import Node

from investigator.code import classes, native
from investigator.code.branching import choose
from investigator.code.heap import join_values, same, spread
from investigator.code.syntax import field as child
from investigator.code.syntax import named, string_value, text
from investigator.code.trace import Happening
from investigator.code.values import (
    BoundMethod,
    Builtin,
    ClassValue,
    External,
    FunctionValue,
    Instance,
    OneOf,
    Raised,
    Scope,
    Super,
    Symbol,
    TracedDict,
    TracedList,
    Unknown,
    Value,
    find_unknown,
    is_unknown,
)

if TYPE_CHECKING:
    from investigator.code.interpreter import Frame, Interpreter

MAX_INTEGER_BITS = 4096
MAX_ELEMENTS = 100_000

_ARITHMETIC: dict[str, Callable[[Value, Value], Value]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
}
_COMPARISON: dict[str, Callable[[Value, Value], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def evaluate(interp: Interpreter, frame: Frame, node: Node) -> Value:
    """The value of an expression. Raises Raised or BudgetSpent."""
    interp.step(frame, node)
    handler = _HANDLERS.get(node.type)
    if handler is None:
        return Unknown(f"{node.type} is outside the subset", frame.module.place(node))
    return handler(interp, frame, node)


# -- literals and names ----------------------------------------------------------------


def _identifier(interp: Interpreter, frame: Frame, node: Node) -> Value:
    return interp.lookup(text(node), frame, node)


def _number(interp: Interpreter, frame: Frame, node: Node) -> Value:
    literal = text(node).replace("_", "").lower()
    try:
        if node.type == "float":
            return float(literal)
        if len(literal) > 1000:
            return Unknown("an integer literal of over 1,000 digits", frame.module.place(node))
        return int(literal, 0)
    except ValueError:
        return Unknown(f"number {literal[:20]}", frame.module.place(node))


def _string(interp: Interpreter, frame: Frame, node: Node) -> Value:
    plain = string_value(node)
    if plain is not None:
        return plain
    parts: list[str] = []
    pieces = node.children if node.type == "string" else named(node)
    for piece in pieces:
        if piece.type == "interpolation":
            value = evaluate(interp, frame, child(piece, "expression"))
            if not isinstance(value, (str, int, float, bool, type(None))) or piece.child_by_field_name(
                "format_specifier"
            ):
                return find_unknown(value) or Unknown("formatted text", frame.module.place(node))
            conversion = piece.child_by_field_name("type_conversion")
            parts.append(repr(value) if conversion is not None and "r" in text(conversion) else str(value))
        elif piece.type in ("string_content", "escape_sequence"):
            parts.append(text(piece))
        elif piece.type == "string":
            value = _string(interp, frame, piece)
            if not isinstance(value, str):
                return value
            parts.append(value)
    return "".join(parts)


def render(interp: Interpreter, frame: Frame, node: Node) -> str:
    """Text of an error message for people: unknown parts of an f-string as ``{...}``."""
    try:
        value = evaluate(interp, frame, node)
    except Raised:
        value = None
    if isinstance(value, str):
        return value
    if node.type == "concatenated_string":
        return "".join(render(interp, frame, part) for part in named(node))
    if node.type == "string":
        out: list[str] = []
        for piece in node.children:
            if piece.type == "interpolation":
                inner = child(piece, "expression")
                shown = evaluate(interp, frame, inner)
                out.append(str(shown) if isinstance(shown, (str, int, float)) else "{" + text(inner) + "}")
            elif piece.type in ("string_content", "escape_sequence"):
                out.append(text(piece))
        return "".join(out)
    if node.type == "parenthesized_expression":
        return render(interp, frame, named(node)[0])
    return "{" + text(node) + "}"


def _elements(interp: Interpreter, frame: Frame, node: Node) -> list[Value]:
    found: list[Value] = []
    for part in named(node):
        if part.type in ("list_splat", "parenthesized_list_splat"):
            value = evaluate(interp, frame, named(part)[0])
            inside = native.iterate(interp, frame, part, value)
            found.extend([spread(inside)] if isinstance(inside, Unknown) else inside)
        else:
            found.append(evaluate(interp, frame, part))
    return found


def _list(interp: Interpreter, frame: Frame, node: Node) -> Value:
    return _elements(interp, frame, node)


def _tuple(interp: Interpreter, frame: Frame, node: Node) -> Value:
    return tuple(_elements(interp, frame, node))


def _set(interp: Interpreter, frame: Frame, node: Node) -> Value:
    return native.make_set(_elements(interp, frame, node), frame.module.place(node))


def _dictionary(interp: Interpreter, frame: Frame, node: Node) -> Value:
    made: dict[Value, Value] = {}
    for part in named(node):
        if part.type == "pair":
            key = evaluate(interp, frame, child(part, "key"))
            value = evaluate(interp, frame, child(part, "value"))
            if is_unknown(key) or not native.hashable(key):
                missing = find_unknown(key) or Unknown("a key that is not plain", frame.module.place(part))
                made[spread(missing)] = value
            else:
                made[key] = value
        elif part.type == "dictionary_splat":
            value = evaluate(interp, frame, named(part)[0])
            if isinstance(value, dict):
                made.update(value)
            else:
                missing = find_unknown(value) or Unknown("** of no dict", frame.module.place(part))
                made[spread(missing)] = missing
    return made


# -- operators -------------------------------------------------------------------------


def _binary(interp: Interpreter, frame: Frame, node: Node) -> Value:
    left = evaluate(interp, frame, child(node, "left"))
    right = evaluate(interp, frame, child(node, "right"))
    return binary(interp, frame, node, text(child(node, "operator")), left, right)


def binary(interp: Interpreter, frame: Frame, node: Node, sign: str, left: Value, right: Value) -> Value:
    """``left sign right``."""
    if isinstance(left, OneOf):
        return interp.over(left, lambda option: binary(interp, frame, node, sign, option, right))
    if isinstance(right, OneOf):
        return interp.over(right, lambda option: binary(interp, frame, node, sign, left, option))
    for value, other, reflected in ((left, right, False), (right, left, True)):
        if isinstance(value, Symbol):
            result = value.binary(sign, other, reflected=reflected)
            if result is not NotImplemented:
                return result
    if (missing := _first_unknown(left, right)) is not None:
        return missing
    compute = _ARITHMETIC.get(sign)
    plain = (int, float, str, list, tuple, set, frozenset, dict)
    if compute is None or not isinstance(left, plain) or not isinstance(right, plain):
        return Unknown(f"operator {sign}", frame.module.place(node))
    if _too_large(sign, left, right):
        return Unknown(f"{sign} would make something very large", frame.module.place(node))
    try:
        result = compute(left, right)
    except (ArithmeticError, TypeError, ValueError) as error:
        raise interp.fail(type(error).__name__, str(error), frame, node) from None
    if isinstance(result, complex):
        return Unknown("a complex number", frame.module.place(node))
    return result


def _too_large(sign: str, left: Value, right: Value) -> bool:
    if sign in ("**", "<<") and isinstance(left, int) and isinstance(right, int):
        bits = right * max(left.bit_length(), 1) if sign == "**" else left.bit_length() + right
        return bits > MAX_INTEGER_BITS
    if sign == "*":
        for many, times in ((left, right), (right, left)):
            if isinstance(many, (str, list, tuple)) and isinstance(times, int):
                return len(many) * times > MAX_ELEMENTS
        if isinstance(left, int) and isinstance(right, int):
            return left.bit_length() + right.bit_length() > MAX_INTEGER_BITS
    if sign == "+" and isinstance(left, (str, list, tuple)) and isinstance(right, (str, list, tuple)):
        return len(left) + len(right) > MAX_ELEMENTS
    return sign == "%" and isinstance(left, str)


def _first_unknown(*values: Value) -> Unknown | None:
    return next((value for value in values if isinstance(value, Unknown)), None)


def _unary(interp: Interpreter, frame: Frame, node: Node) -> Value:
    value = evaluate(interp, frame, child(node, "argument"))
    sign = text(child(node, "operator"))
    return _apply_unary(interp, frame, node, sign, value)


def _apply_unary(interp: Interpreter, frame: Frame, node: Node, sign: str, value: Value) -> Value:
    if isinstance(value, OneOf):
        return interp.over(value, lambda option: _apply_unary(interp, frame, node, sign, option))
    if isinstance(value, Unknown):
        return value
    if isinstance(value, (int, float)):
        if sign == "-":
            return -value
        if sign == "+":
            return +value
        if sign == "~" and isinstance(value, int):
            return ~value
    return Unknown(f"unary {sign}", frame.module.place(node))


def _not(interp: Interpreter, frame: Frame, node: Node) -> Value:
    value = evaluate(interp, frame, child(node, "argument"))
    truth = interp.truth(value)
    return why(value, frame, node) if truth is None else not truth


def why(value: Value, frame: Frame, node: Node) -> Unknown:
    """The reason that a value's truth is not known."""
    return find_unknown(value) or Unknown("truth not known", frame.module.place(node))


def _boolean(interp: Interpreter, frame: Frame, node: Node) -> Value:
    left = evaluate(interp, frame, child(node, "left"))
    stops_on = text(child(node, "operator")) == "or"
    truth = interp.truth(left)
    if truth is stops_on:
        return left
    if truth is not None:
        return evaluate(interp, frame, child(node, "right"))
    because = why(left, frame, node)
    _, right = choose(
        interp, frame, node, lambda: left, lambda: evaluate(interp, frame, child(node, "right")), because
    )
    if right is stops_on:
        return stops_on  # `unknown or True`: the truth is the same whichever side is taken
    return (
        left
        if isinstance(left, Unknown) and isinstance(right, Unknown)
        else join_values(left, right, because)
    )


def _conditional(interp: Interpreter, frame: Frame, node: Node) -> Value:
    body, condition, alternative = named(node)
    value = evaluate(interp, frame, condition)
    truth = interp.truth(value)
    if truth is not None:
        interp.note(Happening.BRANCH, text(condition), truth, frame, condition)
        return evaluate(interp, frame, body if truth else alternative)
    because = why(value, frame, condition)
    one, two = choose(
        interp,
        frame,
        node,
        lambda: evaluate(interp, frame, body),
        lambda: evaluate(interp, frame, alternative),
        because,
    )
    return join_values(one, two, because)


def _comparison(interp: Interpreter, frame: Frame, node: Node) -> Value:
    operands = named(node)
    signs = [text(sign) for sign in node.children_by_field_name("operators")]
    left = evaluate(interp, frame, operands[0])
    result: Value = True
    for sign, operand in zip(signs, operands[1:], strict=True):
        right = evaluate(interp, frame, operand)
        result = compare(interp, frame, node, " ".join(sign.split()), left, right)
        if interp.truth(result) is False:
            return False
        if interp.truth(result) is None:
            return result
        left = right
    return result


def compare(interp: Interpreter, frame: Frame, node: Node, sign: str, left: Value, right: Value) -> Value:
    """``left sign right`` for comparison signs, ``in`` and ``is`` among them."""
    if isinstance(left, OneOf):
        return interp.over(left, lambda option: compare(interp, frame, node, sign, option, right))
    if isinstance(right, OneOf) and sign not in ("in", "not in"):
        return interp.over(right, lambda option: compare(interp, frame, node, sign, left, option))
    if sign in ("in", "not in"):
        held = _contains(interp, frame, node, right, left)
        return held if is_unknown(held) else held is (sign == "in")
    if (missing := _first_unknown(left, right)) is not None:
        return missing
    if sign in ("is", "is not"):
        return _identical(left, right) is (sign == "is")
    if sign in ("==", "!=", "<>"):
        equal = _equal(left, right, frame, node)
        return equal if is_unknown(equal) else equal is (sign == "==")
    try:
        return _COMPARISON[sign](left, right)
    except (KeyError, TypeError):
        return Unknown(f"comparison {sign}", frame.module.place(node))


def _identical(left: Value, right: Value) -> bool:
    if isinstance(left, (External, Builtin, int, str, bool, type(None))):
        return type(left) is type(right) and bool(left == right)
    if isinstance(left, BoundMethod) or isinstance(right, BoundMethod):
        return False
    return left is right


def _equal(left: Value, right: Value, frame: Frame, node: Node) -> Value:
    missing = find_unknown(left) or find_unknown(right)
    if missing is not None:
        return missing
    for value in (left, right):
        if isinstance(value, (Symbol, External)) and left is not right:
            return Unknown("comparison of things outside the tree", frame.module.place(node))
    if isinstance(left, Instance) or isinstance(right, Instance):
        if classes.are_members(left, right):
            # Two names of one value are one member.
            return left is right or (
                left.cls is right.cls and same(*(m.attributes["value"] for m in (left, right)))
            )
        if isinstance(left, type(right)) and left is not right:
            return Unknown("comparison of two objects", frame.module.place(node))
        return left is right
    return bool(left == right)


def _contains(interp: Interpreter, frame: Frame, node: Node, container: Value, item: Value) -> Value:
    if isinstance(container, Unknown):
        return container
    if isinstance(container, Instance) and container.cls is not None:
        method = classes.class_attribute(interp, container.cls, "__contains__")
        if isinstance(method, FunctionValue):
            return interp.enter(method, (container, item), {})
    if isinstance(container, TracedDict):
        present = not is_unknown(item) and native.hashable(item) and item in container
        interp.note(Happening.READ, f"{container.label}.{item}", present, frame, node)
    if isinstance(container, str):
        if isinstance(item, str):
            return item in container
        return find_unknown(item) or Unknown("in", frame.module.place(node))
    if not isinstance(container, (list, tuple, set, frozenset, dict, range)):
        return Unknown("membership in something not followed", frame.module.place(node))
    if isinstance(item, Unknown):
        return item if len(container) else False
    missing: Unknown | None = None
    for element in container:
        if is_unknown(element):
            missing = missing or find_unknown(element)
            continue
        equal = _equal(element, item, frame, node)
        if equal is True:
            return True
        if isinstance(equal, Unknown):
            missing = equal
    return missing if missing is not None else False


# -- attributes, subscripts, calls -----------------------------------------------------


def _attribute(interp: Interpreter, frame: Frame, node: Node) -> Value:
    owner = evaluate(interp, frame, child(node, "object"))
    return interp.attribute(frame, node, owner, text(child(node, "attribute")))


def _subscript(interp: Interpreter, frame: Frame, node: Node) -> Value:
    owner = evaluate(interp, frame, child(node, "value"))
    keys = [evaluate(interp, frame, key) for key in node.children_by_field_name("subscript")]
    return subscript(interp, frame, node, owner, keys[0] if len(keys) == 1 else tuple(keys))


def subscript(interp: Interpreter, frame: Frame, node: Node, owner: Value, key: Value) -> Value:
    """``owner[key]``. Raises Raised(KeyError, IndexError)."""
    if isinstance(owner, OneOf):
        return interp.over(owner, lambda option: subscript(interp, frame, node, option, key))
    if isinstance(key, OneOf):
        return interp.over(key, lambda option: subscript(interp, frame, node, owner, option))
    if isinstance(owner, Symbol):
        value = owner.item(key)
        return Unknown("item of a symbol", frame.module.place(node)) if value is NotImplemented else value
    if (missing := _first_unknown(owner, key)) is not None:
        return missing
    if isinstance(owner, ClassValue) and classes.is_enum(interp, owner) and isinstance(key, str):
        found = classes.class_attribute(interp, owner, key)
        if found is NotImplemented:
            raise interp.fail("KeyError", repr(key), frame, node)
        return found
    if isinstance(owner, (ClassValue, Builtin)):
        return owner  # list[int], Generic[T]: the type itself
    if isinstance(owner, dict):
        return _dict_item(interp, frame, node, owner, key)
    if isinstance(owner, (list, tuple, str, range)):
        uncertain = next((e for e in owner if isinstance(e, Unknown) and e.spread), None)
        if uncertain is not None:
            return uncertain
        try:
            found = owner[key]
        except IndexError:
            raise interp.fail("IndexError", f"index {key} of {len(owner)}", frame, node) from None
        except TypeError:
            return Unknown("subscript", frame.module.place(node))
        if isinstance(owner, TracedList):
            interp.note(Happening.READ, f"{owner.label}[{key}]", found, frame, node)
        return found
    if isinstance(owner, Instance) and owner.cls is not None:
        method = classes.class_attribute(interp, owner.cls, "__getitem__")
        if isinstance(method, FunctionValue):
            return interp.enter(method, (owner, key), {})
    return Unknown("subscript of something not followed", frame.module.place(node))


def _dict_item(interp: Interpreter, frame: Frame, node: Node, owner: dict[Value, Value], key: Value) -> Value:
    if not native.hashable(key):
        return Unknown("subscript", frame.module.place(node))
    if isinstance(owner, TracedDict):
        interp.note(Happening.READ, f"{owner.label}.{key}", owner.get(key), frame, node)
    if key in owner:
        return owner[key]
    uncertain = next((k for k in owner if isinstance(k, Unknown)), None)
    if uncertain is not None:
        return uncertain
    raise interp.fail("KeyError", repr(key), frame, node)


def _slice(interp: Interpreter, frame: Frame, node: Node) -> Value:
    bounds: list[Value] = [None, None, None]
    position = 0
    for part in node.children:
        if part.type == ":":
            position += 1
        elif part.is_named and position < 3:
            bounds[position] = evaluate(interp, frame, part)
    missing = _first_unknown(*bounds)
    if missing is not None:
        return missing
    if any(not isinstance(bound, (int, type(None))) for bound in bounds):
        return Unknown("slice", frame.module.place(node))
    return slice(*bounds)


def _call(interp: Interpreter, frame: Frame, node: Node) -> Value:
    function = child(node, "function")
    arguments = child(node, "arguments")
    if function.type == "identifier" and text(function) == "super":
        return _super(interp, frame, node, arguments)
    elsewhere = interp.imported_callee(frame, text(function)) if function.type == "identifier" else None
    # A callee in another file is looked up only if it may be entered: most never are.
    callee = evaluate(interp, frame, function) if elsewhere is None else None
    if arguments.type == "generator_expression":
        callee = callee if elsewhere is None else evaluate(interp, frame, function)
        return interp.call(frame, node, callee, (evaluate(interp, frame, arguments),), {})
    args: list[Value] = []
    kwargs: dict[str, Value] = {}
    for part in named(arguments):
        if part.type == "keyword_argument":
            kwargs[text(child(part, "name"))] = evaluate(interp, frame, child(part, "value"))
        elif part.type == "list_splat":
            inside = native.iterate(interp, frame, part, evaluate(interp, frame, named(part)[0]))
            args.extend([spread(inside)] if isinstance(inside, Unknown) else inside)
        elif part.type == "dictionary_splat":
            value = evaluate(interp, frame, named(part)[0])
            if isinstance(value, dict):
                kwargs.update({key: v for key, v in value.items() if isinstance(key, str)})
        else:
            args.append(evaluate(interp, frame, part))
    if elsewhere is not None:
        if not interp.may_enter(args, kwargs):
            return interp.leave_alone(frame, node, elsewhere, tuple(args), kwargs)
        callee = evaluate(interp, frame, function)
    return interp.call(frame, node, callee, tuple(args), kwargs)


def _super(interp: Interpreter, frame: Frame, node: Node, arguments: Node) -> Value:
    function = frame.function
    if function is None or function.owner is None or named(arguments):
        return Unknown("super() outside a method", frame.module.place(node))
    return Super(function.owner, frame.receiver)


def _yield(interp: Interpreter, frame: Frame, node: Node) -> Value:
    interp.journal.touch(frame.yielded)
    parts = named(node)
    value = evaluate(interp, frame, parts[0]) if parts else None
    if any(part.type == "from" for part in node.children):
        inside = native.iterate(interp, frame, node, value)
        frame.yielded.extend([spread(inside)] if isinstance(inside, Unknown) else inside)
    else:
        frame.yielded.append(value)
    return Unknown("what is sent into a generator", frame.module.place(node))


def _lambda(interp: Interpreter, frame: Frame, node: Node) -> Value:
    return FunctionValue("<lambda>", node, frame.scope)


def _walrus(interp: Interpreter, frame: Frame, node: Node) -> Value:
    value = evaluate(interp, frame, child(node, "value"))
    interp.journal.touch(frame.scope.variables)
    frame.scope.variables[text(child(node, "name"))] = value
    return value


def _parenthesized(interp: Interpreter, frame: Frame, node: Node) -> Value:
    return evaluate(interp, frame, named(node)[0])


# -- comprehensions and unpacking ------------------------------------------------------


def _comprehension(interp: Interpreter, frame: Frame, node: Node) -> Value:
    from investigator.code.interpreter import Frame as NewFrame

    inner = NewFrame(Scope(frame.module, parent=frame.scope), frame.function, frame.receiver)
    body = child(node, "body")
    made: list[Value] = []
    for ready in _clauses(interp, inner, [c for c in named(node) if c != body]):
        if isinstance(ready, Unknown):
            made.append(spread(ready))
        elif body.type == "pair":
            pair = (
                evaluate(interp, inner, child(body, "key")),
                evaluate(interp, inner, child(body, "value")),
            )
            made.append(pair)
        else:
            made.append(evaluate(interp, inner, body))
        if len(made) > MAX_ELEMENTS:
            return Unknown("a very long comprehension", frame.module.place(node))
    if node.type == "set_comprehension":
        return native.make_set(made, frame.module.place(node))
    if node.type == "dictionary_comprehension":
        return {
            (entry[0] if native.hashable(entry[0]) else Unknown("key")): entry[1]
            for entry in ((e, e) if isinstance(e, Unknown) else e for e in made)
        }
    return made


def _clauses(interp: Interpreter, frame: Frame, clauses: list[Node]) -> Iterator[Unknown | None]:
    """Runs the ``for`` and ``if`` clauses; yields None when the body is to be evaluated, or
    the reason why any number of elements may stand here."""
    if not clauses:
        yield None
        return
    clause, rest = clauses[0], clauses[1:]
    if clause.type == "if_clause":
        value = evaluate(interp, frame, named(clause)[0])
        truth = interp.truth(value)
        if truth is True:
            yield from _clauses(interp, frame, rest)
        elif truth is None:
            yield why(value, frame, clause)
        return
    items = native.iterate(interp, frame, clause, evaluate(interp, frame, child(clause, "right")))
    if isinstance(items, Unknown):
        yield items
        return
    for item in items:
        if isinstance(item, Unknown) and item.spread:
            yield item
            continue
        assign(interp, frame, child(clause, "left"), item)
        yield from _clauses(interp, frame, rest)


def assign(interp: Interpreter, frame: Frame, target: Node, value: Value) -> None:
    """``target = value`` for names, attributes, subscripts and unpacking patterns."""
    match target.type:
        case "identifier":
            scope = frame.scope
            interp.journal.touch(scope.variables)
            scope.variables[text(target)] = value
        case "attribute":
            owner = evaluate(interp, frame, child(target, "object"))
            interp.set_attribute(frame, target, owner, text(child(target, "attribute")), value)
        case "subscript":
            owner = evaluate(interp, frame, child(target, "value"))
            keys = [evaluate(interp, frame, key) for key in target.children_by_field_name("subscript")]
            native.set_item(interp, owner, keys[0] if len(keys) == 1 else tuple(keys), value)
        case "pattern_list" | "tuple_pattern" | "list_pattern" | "tuple" | "list" | "expression_list":
            parts = named(target)
            stars = [i for i, part in enumerate(parts) if part.type == "list_splat_pattern"]
            values = (
                _unpack_starred(interp, frame, target, value, len(parts), stars[0])
                if stars
                else unpack(interp, frame, target, value, len(parts))
            )
            for part, item in zip(parts, values, strict=True):
                assign(interp, frame, named(part)[0] if part.type == "list_splat_pattern" else part, item)
        case "parenthesized_expression":
            assign(interp, frame, named(target)[0], value)
        case _:
            pass


def unpack(interp: Interpreter, frame: Frame, node: Node, value: Value, count: int) -> list[Value]:
    """The ``count`` values that ``a, b, ... = value`` hands out."""
    if isinstance(value, Symbol):
        made = value.unpack(count)
        if made is not NotImplemented:
            return list(made)
    if isinstance(value, OneOf):
        rows = [unpack(interp, frame, node, option, count) for option in value.options]
        because = value.because or Unknown("undecided", value.place)
        joined = rows[0]
        for row in rows[1:]:
            joined = [join_values(a, b, because) for a, b in zip(joined, row, strict=True)]
        return joined
    items = native.iterate(interp, frame, node, value)
    if isinstance(items, Unknown):
        return [items] * count
    uncertain = next((item for item in items if isinstance(item, Unknown) and item.spread), None)
    if uncertain is not None:
        return [uncertain] * count
    if len(items) != count:
        raise interp.fail("ValueError", f"expected {count} values to unpack, got {len(items)}", frame, node)
    return items


def _unpack_starred(
    interp: Interpreter, frame: Frame, node: Node, value: Value, count: int, star: int
) -> list[Value]:
    items = native.iterate(interp, frame, node, value)
    if isinstance(items, Unknown) or any(isinstance(i, Unknown) and i.spread for i in items):
        missing = items if isinstance(items, Unknown) else Unknown("unpacking of an uncertain list")
        return [missing] * count
    tail = count - star - 1
    if len(items) < count - 1:
        raise interp.fail("ValueError", "not enough values to unpack", frame, node)
    return [*items[:star], items[star : len(items) - tail], *items[len(items) - tail :]]


def _constant(value: Value) -> Callable[[Interpreter, Frame, Node], Value]:
    return lambda interp, frame, node: value


_HANDLERS: dict[str, Callable[[Interpreter, Frame, Node], Value]] = {
    "identifier": _identifier,
    "integer": _number,
    "float": _number,
    "string": _string,
    "concatenated_string": _string,
    "true": _constant(True),
    "false": _constant(False),
    "none": _constant(None),
    "list": _list,
    "tuple": _tuple,
    "expression_list": _tuple,
    "set": _set,
    "dictionary": _dictionary,
    "binary_operator": _binary,
    "unary_operator": _unary,
    "not_operator": _not,
    "boolean_operator": _boolean,
    "conditional_expression": _conditional,
    "comparison_operator": _comparison,
    "attribute": _attribute,
    "subscript": _subscript,
    "slice": _slice,
    "call": _call,
    "lambda": _lambda,
    "yield": _yield,
    "named_expression": _walrus,
    "parenthesized_expression": _parenthesized,
    "list_comprehension": _comprehension,
    "set_comprehension": _comprehension,
    "dictionary_comprehension": _comprehension,
    "generator_expression": _comprehension,
}
