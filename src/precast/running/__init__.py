"""Drivers that do the work of a net: one on threads, one on tasks.

The net decides what may start and records what ended; it neither waits nor works. These two drivers do, so that the agent (on threads,
because resources block) and the server and boot (on tasks) give the same guarantees: bounded concurrency, a deadline for every wait, an
error in the work is recorded as a failure, and stopping leaves an execution that can be stored and resumed.
"""
