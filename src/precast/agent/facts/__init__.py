"""Facts: what a node reports about itself, as plain JSON data in facter's structure.

Each group is a function from a `Machine` to top-level facts. It reads files under the machine's root and asks the kernel by system call;
it starts no program. A fact that cannot be read is absent, never an error: a broken file in /proc must not hide the rest. Every source
that can be slow or wrong (a plug-in, an executable, a dead network mount) has a deadline, and its absence is a warning.
"""
