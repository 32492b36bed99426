"""The catalogs and tools that bench/apply.py measures."""
