"""Plans: deployments as graphs of tasks. Loads them, expands them over nodes, checks them, and turns them into nets. Pure."""
