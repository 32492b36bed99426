"""The parts of the type file: what it wants, where it leads, how it is read, written, copied and removed."""
