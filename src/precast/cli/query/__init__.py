"""`precast query`, and the target arguments that all commands over nodes share."""
