"""Compiles generated environments over real modules with Precast and with real Puppet, and compares them; tests/differential runs it."""
