"""`precast run` and `precast exec`: jobs that a server carries out on many nodes, with their options and their progress."""
