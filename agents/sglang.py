"""The agent that reads SGLang: its one path, with the checkpoint's own numbers."""

from investigator.agents.engine import EngineAgent, OpenTree
from investigator.engines.remembered import Records


class SglangAgent(EngineAgent):
    """The engine agent named ``sglang``."""

    def __init__(self, open_tree: OpenTree, records: Records) -> None:
        super().__init__("sglang", open_tree, records)
