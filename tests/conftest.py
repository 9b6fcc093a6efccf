"""What holds for every test: a plain run leaves out what is slow, and what needs an accelerator."""

import pytest

LEFT_OUT = ("slow", "gpu")
"""Marks that have to be asked for by name, as in ``-m slow``."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what was not asked for; a test that is named itself is always run."""
    asked = config.option.markexpr
    named = any("::" in argument for argument in config.args)
    unasked = {mark for mark in LEFT_OUT if mark not in asked and not (named and mark == "slow")}
    left = [item for item in items if any(item.get_closest_marker(mark) for mark in unasked)]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in left]
