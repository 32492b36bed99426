"""Applies a catalog on this node: plan, check, change, report. A process of its own, so that it may import what the daemon must not."""
