"""Data sources: one small class per kind of source, and the evidence that determines which sources are asked."""
