"""Where a machine learns what it is: one small class for each kind of source, and the evidence that says which are worth asking."""
