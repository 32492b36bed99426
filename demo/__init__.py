"""What Precast can do, shown on this machine with real parts. `make demo` runs it."""
