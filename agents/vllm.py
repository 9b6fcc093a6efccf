"""The agent that reads vLLM: both model runners, with the checkpoint's own numbers."""

from investigator.agents.engine import EngineAgent, OpenTree
from investigator.engines.remembered import Records


class VllmAgent(EngineAgent):
    """The engine agent named ``vllm``."""

    def __init__(self, open_tree: OpenTree, records: Records) -> None:
        super().__init__("vllm", open_tree, records)
