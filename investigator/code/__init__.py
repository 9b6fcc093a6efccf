"""Reading Python without running it: parse, resolve names, and follow values.

``syntax``       tree-sitter underneath: parsed files, places, small node helpers
``program``      a tree of files as modules: imports, symbols, who-mentions-this
``values``       what an expression can be, ``Unknown`` among them
``heap``         a journal of changes, so that both branches of an undecided condition can be taken
``trace``        what happened on the way: reads, calls, branches, returns (the evidence)
``interpreter``  calls, attributes, frames and budgets
``expressions``, ``statements``, ``native``  the three halves of the language subset

The subset, its semantics and its limits are written down in ``docs/interpreter.md``.
"""
