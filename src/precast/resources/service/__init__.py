"""service: the handler, and one module for each init system."""
