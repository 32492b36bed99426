"""The commands that compile here, without a server: `compile`, `eval`, `lookup`, `validate` and `doc`."""
