from dataclasses import dataclass
from typing import Any


@dataclass
class EngineArgs:
    """The options that this release knows; ``seed`` is one that it does not."""

    model: str = ""
    enforce_eager: bool = False
    disable_log_stats: bool = True
    enable_prefix_caching: bool = True
    skip_tokenizer_init: bool = False
    trust_remote_code: bool = False
    max_model_len: int = 0
    max_num_seqs: int = 0
    speculative_config: Any = None
    attention_backend: str = ""
