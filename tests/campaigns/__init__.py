"""Longer campaigns than the tests run, each a script: ``python -m tests.campaigns NAME [COUNT]``.

Each prints one line of counts and fails when something was found; a find becomes a test. What a
plain run holds of a campaign is a short one, beside the tests of what it attacks.
"""
