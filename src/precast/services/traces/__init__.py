"""The trace tree: which catalog follows from which answers."""
