"""Benchmarks: one file per capability, peers beside us in the same run. `make bench` runs them all in full."""
