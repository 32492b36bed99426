"""Module checkouts that a directory names, compiled by real Puppet and by Precast: what is equal, what differs, and why."""
