"""Tasks of plans on a node: tests before the work, the work, and tests after it."""
