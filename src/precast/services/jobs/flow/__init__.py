"""Backpressure and fairness, without input or output: how many attempts may be in flight, and whose turn is next."""
