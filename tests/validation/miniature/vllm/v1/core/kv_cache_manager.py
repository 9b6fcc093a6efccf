from dataclasses import dataclass


@dataclass
class PrefixCacheStats:
    queries: int = 0
    hits: int = 0


class KVCacheManager:
    """Counts lookups where vLLM's manager does; the scheduler takes the count away each step."""

    def __init__(self) -> None:
        self.stats = PrefixCacheStats()

    def make_prefix_cache_stats(self) -> PrefixCacheStats:
        taken, self.stats = self.stats, PrefixCacheStats()
        return taken
