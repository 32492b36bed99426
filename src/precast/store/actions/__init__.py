"""Tables of actions: what is scheduled, for which nodes, and what became of each due time."""
