"""Shapes of classes: a base pulled out, a mixin, properties in place of attributes."""

import ast

from tests.support.rewriting.files import Source, decorator_names, mangled, statement, touchable

PLAIN = ("__init__",)
ODD_BASES = ("Protocol", "Enum", "NamedTuple", "TypedDict", "Structure", "Flag")


def base_pulled_out(source: Source) -> bool:
    """The methods of each class stand in a base of its own, between it and the bases that it had."""
    return _moved(source, mixin=False)


def mixin_pulled_out(source: Source) -> bool:
    """The methods of each class stand in a mixin beside the bases that it had."""
    return _moved(source, mixin=True)


def _moved(source: Source, *, mixin: bool) -> bool:
    count = 0
    for at, node in reversed(list(enumerate(source.tree.body))):
        if not isinstance(node, ast.ClassDef) or node.keywords or _is_odd(node):
            continue
        methods = [s for s in node.body if isinstance(s, ast.FunctionDef) and _can_move(s, node)]
        if not methods:
            continue
        rest = [s for s in node.body if s not in methods] or [ast.Pass()]
        name = f"{node.name}{'Mixin' if mixin else 'Base'}"
        moved = ast.ClassDef(name, [] if mixin else list(node.bases), [], list(methods), [])
        node.bases = [ast.Name(name), *(node.bases if mixin else [])]
        node.body = rest
        source.tree.body.insert(at, moved)
        count += 1
    return count > 0


def _is_odd(node: ast.ClassDef) -> bool:
    """Classes whose making looks at their own body or bases."""
    named = [ast.unparse(base) for base in node.bases]
    if any(word in base for base in named for word in ODD_BASES) or any("[" in base for base in named):
        return True
    return any("overload" in decorator_names(s) for s in node.body if isinstance(s, ast.FunctionDef))


def _can_move(method: ast.FunctionDef, owner: ast.ClassDef) -> bool:
    used_in_body = {
        n.id
        for s in owner.body
        if not isinstance(s, ast.FunctionDef)
        for n in ast.walk(s)
        if isinstance(n, ast.Name)
    }
    names = [s.name for s in owner.body if isinstance(s, ast.FunctionDef)]
    same = names.count(method.name) > 1  # a property with its setter
    looks = any(
        isinstance(n, ast.Name | ast.Attribute) and mangled(getattr(n, "id", getattr(n, "attr", "")))
        for n in ast.walk(method)
    )
    own = {n.id for d in method.decorator_list for n in ast.walk(d) if isinstance(n, ast.Name)} & set(names)
    defaults = {
        n.id
        for d in [*method.args.defaults, *method.args.kw_defaults]
        if d
        for n in ast.walk(d)
        if isinstance(n, ast.Name)
    }
    in_class = {
        t.id for s in owner.body if isinstance(s, ast.Assign) for t in s.targets if isinstance(t, ast.Name)
    }
    plain = not method.name.startswith("__") or method.name in PLAIN
    return (
        plain and not (same or looks or own) and method.name not in used_in_body and not defaults & in_class
    )


def properties_for_attributes(source: Source) -> bool:
    """What a constructor sets once is a property over another attribute. Modules of torch are left alone:
    they keep their parts under the attributes' names."""
    count = 0
    for owner in [n for n in source.tree.body if isinstance(n, ast.ClassDef)]:
        if (
            _is_odd(owner)
            or "Module" in ast.unparse(owner).partition(":")[0]
            or "dataclass" in " ".join(decorator_names(owner))
        ):
            continue
        if any("config" in name or "dataclass" in name for name in decorator_names(owner)):
            continue
        made = next((s for s in owner.body if isinstance(s, ast.FunctionDef) and s.name == "__init__"), None)
        if made is None or not touchable(made) or _builds_layers(owner):
            continue
        defined = {s.name for s in owner.body if isinstance(s, ast.FunctionDef)}
        defined |= {
            n.id
            for s in owner.body
            if isinstance(s, ast.Assign | ast.AnnAssign)
            for n in ast.walk(s)
            if isinstance(n, ast.Name)
        }
        names = [
            target.attr
            for line in made.body
            if isinstance(line, ast.Assign) and len(line.targets) == 1
            for target in line.targets
            if isinstance(target, ast.Attribute)
            and isinstance(target.value, ast.Name)
            and target.value.id == "self"
        ]
        for name in dict.fromkeys(names):
            if name in defined or mangled(name) or name.startswith("_"):
                continue
            kept = f"_kept_{name}"
            owner.body.append(statement(f"@property\ndef {name}(self):\n    return self.{kept}"))
            owner.body.append(statement(f"@{name}.setter\ndef {name}(self, value):\n    self.{kept} = value"))
            count += 1
    return count > 0


def _builds_layers(owner: ast.ClassDef) -> bool:
    """Whether a class looks like a part of a model (its forward pass is run by torch)."""
    return any(isinstance(s, ast.FunctionDef) and s.name == "forward" for s in owner.body)
