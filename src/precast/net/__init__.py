"""The Petri-net kernel: one structure that is built, run, checked, simulated, drawn and exchanged.

Everything that waits is a net: a dependency, a limit, a lock, a window or a value to come is a place, and a piece of work is a transition.
The package is pure: it has no clock, no threads and no tasks; the drivers in `precast.running` do the work. The exact rules are in
docs/explanation/net.md.
"""
