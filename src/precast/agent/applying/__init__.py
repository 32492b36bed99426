"""Applies a catalog on this node: plan, check, change, report. Runs in a process of its own, so it may import what the daemon must not."""
