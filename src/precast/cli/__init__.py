"""The command line: one package per feature. A command parses its arguments, calls the API or local code, and prints the result."""
