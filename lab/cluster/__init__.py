"""A site of three servers on one PostgreSQL behind haproxy with real agents, and what can happen to it."""
