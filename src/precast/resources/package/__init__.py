"""package: the handler, and one module for each package manager."""
