"""The Petri-net kernel: one structure that is built, run, checked, simulated, drawn and exchanged.

Everything that waits is a net: a dependency, a limit, a lock, a window or a value to come is a place, and a piece of work is a transition.
The package is pure. It holds no clock, no threads and no tasks; `precast.running` has the drivers that do the work. The exact rules are in
docs/explanation/net.md.
"""
