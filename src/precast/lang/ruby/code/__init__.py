"""Ruby files of modules, read but never run: the types and facts they declare."""
