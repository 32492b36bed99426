"""Sessions of connected nodes: how they begin, the records that nodes send, and the orders they are sent."""
