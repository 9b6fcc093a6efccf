"""Find out whether an inference engine keeps the promises a drafter was trained on."""

__version__ = "0.1.0"
