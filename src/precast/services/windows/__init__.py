"""Maintenance windows and schedules: when which actions may begin on which nodes."""
