from typing import Any


class Scheduler:
    """Counts drafts where vLLM's scheduler does."""

    def __init__(self, width: int) -> None:
        self.drafts = self.draft_tokens = self.accepted = 0
        self.per_position = [0] * width

    def make_spec_decoding_stats(
        self,
        stats: Any,
        num_draft_tokens: int,
        num_accepted_tokens: int,
        num_invalid_spec_tokens: Any,
        request_id: str,
    ) -> Any:
        self.drafts += 1
        self.draft_tokens += num_draft_tokens
        self.accepted += num_accepted_tokens
        for position in range(num_accepted_tokens):
            self.per_position[position] += 1
        return stats
