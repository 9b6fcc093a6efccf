"""The promises a drafter was trained on: one file per contract, compared here and nowhere else.

A contract file says what is promised, what the checkpoint demands, and how the answers of
the reference and of an engine compare. It never reads source: answers come in common terms.
``registry`` lists them all.
"""
