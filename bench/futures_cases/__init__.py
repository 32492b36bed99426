"""The parts of the benchmark of futures."""
