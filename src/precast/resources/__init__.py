"""Managed types on a node: one file per type that reads the current state, compares it and applies the changes. It runs as root."""
