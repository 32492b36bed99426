"""The built-in facts, one module for each group; `registry` lists them."""
