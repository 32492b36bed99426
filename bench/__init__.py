"""Benchmarks: one file per capability, which measures Precast and its peers in the same run. `make bench` runs all of them in full."""
