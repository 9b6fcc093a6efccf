"""Validation: what each repair brings back, measured.

A validation is an *experiment folder* (:mod:`investigator.validation.emit`): the variants, the
patched files of each, the pair, the prompts, and three programs that need nothing of this
project (:mod:`~investigator.validation.conductor`, :mod:`~investigator.validation.harness`,
:mod:`~investigator.validation.reference`). A launcher gets that folder executed somewhere and
brings ``results/`` back; :mod:`~investigator.validation.statistics` makes numbers of it.
"""
