"""Managed types on a node: one file per type that reads its state, plans the change and applies it. Runs as root; stays small."""
