"""Real parts for tests, benches and the demo: a PostgreSQL of one's own, small disks, traced processes. Not shipped."""
