"""Parts of bench/compile.py."""
