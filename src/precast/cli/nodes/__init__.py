"""`precast node` and `precast status`: the nodes of a server with their classification and policy, and the state of the whole site."""
