"""What is known about a net without running it: dead transitions, cycles, deadlocks, and which transition waits for which."""
