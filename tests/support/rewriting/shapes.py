"""Every shape by name."""

from collections.abc import Mapping

from tests.support.rewriting import calls, classes, flow, names
from tests.support.rewriting.files import Shape, Source


def written_anew(source: Source) -> bool:
    """Nothing but the layout: other quotes, other line breaks, no comments."""
    return bool(source.tree.body)


SHAPES: Mapping[str, Shape] = {
    shape.__name__: shape
    for shape in (
        written_anew,
        calls.split_with_helper,
        calls.split_with_method,
        calls.split_into_module,
        calls.through_partial,
        calls.through_decorator,
        calls.by_keyword,
        calls.by_position,
        calls.dict_dispatch,
        calls.method_dispatch,
        flow.match_statement,
        flow.nested_ifs,
        flow.early_returns,
        flow.turned_conditions,
        flow.one_exit,
        flow.walrus,
        flow.loops_for_comprehensions,
        flow.comprehensions_for_loops,
        names.constants_at_the_top,
        names.constants_in_an_enum,
        names.constants_in_a_dataclass,
        names.receiver_renamed,
        names.attribute_aliases,
        names.getattr_for_attributes,
        names.getattr_for_methods,
        names.imports_aliased,
        names.imports_inside,
        classes.base_pulled_out,
        classes.mixin_pulled_out,
        classes.properties_for_attributes,
    )
}
