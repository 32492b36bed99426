"""Checks before a job starts that its nodes do not wait for each other for ever."""
