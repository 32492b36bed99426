"""Reports of runs: storing what nodes send, showing it, passing it on to returners, and deleting it after a time."""
