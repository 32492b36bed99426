"""Environments over real modules, compiled by Precast and by real Puppet, and compared: what tests/differential runs."""
