"""Compiles in processes of their own."""
