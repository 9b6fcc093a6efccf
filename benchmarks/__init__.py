"""What an investigation costs, measured beside what else could be done; ``python -m benchmarks``."""
