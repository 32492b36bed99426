"""Facts of nodes: taking sets in, deciding whether a change leads to a compile, history, differences and retention."""
