"""``python -m investigator``."""

from investigator.cli import main

main()
