"""Prepares runs of plans: reads the files, checks and expands the plan in a child process, and collects what the run pins."""
