"""Reports a run to the servers while it takes place, and counts its outcome."""
