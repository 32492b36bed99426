"""The commands that act on this machine: `apply`, `resource`, and `agent` with the daemon and its sub-commands."""
