"""One module per command, each with ``command``, a click command of that name.

A module here is imported to show its one line in ``--help``: what is slow to import
(httpx, github, huggingface_hub, git, torch, rich) is imported inside its functions.
"""
