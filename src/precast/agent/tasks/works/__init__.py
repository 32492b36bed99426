"""The works of tasks, besides those over files."""
