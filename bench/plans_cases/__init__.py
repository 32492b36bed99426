"""The parts of the benchmarks of plans."""
