"""Benchmarks: speed as a ratio to raw physics, both measured turn by turn in one process."""
