"""Real parts for tests, benchmarks and the demo: a private PostgreSQL, small disks, traced processes. Not shipped."""
