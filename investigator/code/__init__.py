"""Reading Python without running it: parse, resolve names, and follow values.

``syntax``, ``program``       tree-sitter underneath: parsed files, places; a tree of files as modules
``values``                    what an expression can be, ``Unknown`` among them
``heap``, ``widening``        joins of two values, of two states, of any number of rounds
``journal``, ``branching``    changes noted and undone, so that both sides of an undecided
                              condition can be followed and joined
``trace``                     what happened on the way: reads, calls, branches, returns (the evidence)
``interpreter``               the machine: calls, attributes, frames and budgets
``names``, ``variables``      what a module's and a function's names stand for
``expressions``               and what they are made of: ``literals``, ``operators``, ``comparisons``,
                              ``subscripts``, ``comprehensions``
``statements``                and what they are made of: ``assignment``, ``unpacking``, ``deletion``,
                              ``loops``, ``matching``, ``raising``, ``attempts``, ``contexts``
``functions``, ``generators``, ``kept_results``   how they are made, bound and run
``classes``, ``properties``, ``construction``     what a class defines, what it gives its objects, how
                              they are made; ``attributes``, ``dataclass_fields``, ``enums``, ``exceptions``
``iteration``, ``streams``, ``iterators``   going through values, item by item
``builtin_functions``, ``builtin_types``, ``builtin_iterators``, ``externals``   what Python brings along
``builtin_methods``           and ``list_methods``, ``dict_methods``, ``set_methods``, ``text_methods``,
                              ``object_methods``: attributes and methods of Python's own values
``effects``                   what code that is not followed may have changed
``lazy``                      values worked out backwards, on demand

The subset, its semantics and its limits are written down in ``docs/interpreter.md``.
"""
