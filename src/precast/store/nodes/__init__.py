"""Tables of nodes: the nodes themselves, their classification and their policies."""
