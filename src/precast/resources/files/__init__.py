"""The parts of the type file: its parameters, safe paths, sources, checksums, backups, and atomic writes."""
