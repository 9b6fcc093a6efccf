"""What a person or a program reads: one module per format, each a function of an Investigation.

Imported as ``investigator.reports``.
"""
