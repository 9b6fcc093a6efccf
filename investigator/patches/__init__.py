"""Repairs for an engine: made on its syntax tree, proven, applied and taken back."""
