"""The command line: one file per command group, each of which parses, calls and prints."""
