"""The environments that bench/compile.py compiles, and the process that compiles them."""
