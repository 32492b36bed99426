"""Drivers that do the work of a net: one on threads, one on tasks.

The kernel says what may start and takes note of what ended; it neither waits nor works. These two are all that stands between it and the
world, so that the agent (threads: resources block) and the server and boot (tasks) keep the same promises: bounded concurrency, a deadline
for every wait, an error in the work is a failure that is kept, and stopping leaves an execution that can be stored and resumed.
"""
