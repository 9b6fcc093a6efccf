"""Reading Python without running it: parse, resolve names, and follow values.

``syntax``, ``program``       tree-sitter underneath: parsed files, places; a tree of files as modules
``values``                    what an expression can be, ``Unknown`` among them
``heap``, ``branching``       a journal of changes, so that both sides of an undecided condition
                              can be followed, undone and joined
``trace``                     what happened on the way: reads, calls, branches, returns (the evidence)
``interpreter``               the machine: calls, attributes, frames and budgets
``names``, ``variables``      what a module's and a function's names stand for
``expressions``, ``statements`` and what they are made of: ``literals``, ``operators``,
``comprehensions``, ``assignment``, ``loops``, ``attempts``, ``matching``
``functions``, ``classes``, ``dataclass_fields``, ``enums``, ``exceptions``
``builtin_functions``, ``builtin_types``, ``builtin_methods``, ``externals``  what Python brings along
``effects``                   what code that is not followed may have changed
``lazy``                      values worked out backwards, on demand

The subset, its semantics and its limits are written down in ``docs/interpreter.md``.
"""
