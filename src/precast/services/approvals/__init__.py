"""Approvals: what one person requests, other people must approve."""
