"""Rewrites of Python source that leave what it does as it is, as a maintainer might make them.

Each shape is applied to every place of a file where it fits, on Python's own syntax tree, and the file is
written anew (``ast.unparse``). ``SHAPES`` has them by name. They are checked against Python itself on
programs made at random (``tests/support/test_rewriting.py``) and put to real releases
(``tests/engines/test_shapes.py``).
"""

from tests.support.rewriting.files import Files, Shape, rewritten
from tests.support.rewriting.shapes import SHAPES

__all__ = ["SHAPES", "Files", "Shape", "rewritten"]
