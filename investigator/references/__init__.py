"""The references: what a drafter was trained on, read out of the authors' own code."""
