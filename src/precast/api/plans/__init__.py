"""Routes about plans, and about the content of their tasks."""
