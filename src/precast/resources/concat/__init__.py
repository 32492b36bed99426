"""How fragments become one content."""
