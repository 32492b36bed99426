"""Plans: graphs of tasks over nodes, which run as jobs."""
