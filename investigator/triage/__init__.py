"""Triage of a symptom: from what a deployment printed to "is it the drafter or the engine?".

symptom = read_symptom(stream)               # any mixture of the known formats, streamed
triage = judge(symptom, load_figures())      # the plain answer, with reasons for both sides
hints = case_hints(symptom)                  # engine, draft, target: nothing typed twice
"""

from investigator.triage.collect import read_symptom
from investigator.triage.figures import Figures, load_figures
from investigator.triage.files import open_symptom
from investigator.triage.hints import CaseHints, case_hints
from investigator.triage.judge import judge
from investigator.triage.symptom import Symptom
from investigator.triage.verdict import Answer, Triage

__all__ = [
    "Answer",
    "CaseHints",
    "Figures",
    "Symptom",
    "Triage",
    "case_hints",
    "judge",
    "load_figures",
    "open_symptom",
    "read_symptom",
]
