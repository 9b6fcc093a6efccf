"""Four agents, each with its own source: fetch it, put the questions, hand back answers.

Imported as ``investigator.agents``. Agents never judge; the synthesizer does.
"""
