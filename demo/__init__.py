"""A demonstration of Precast on this machine, with real databases, servers and agents. `make demo` runs it."""
