"""Jobs: runs and commands over many nodes, as a net of steps with limits, driven under a lease with a fence."""
