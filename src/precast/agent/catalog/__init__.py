"""The catalog and the policy of this node: fetched from a server, checked, cached, and whether a run may enforce."""
