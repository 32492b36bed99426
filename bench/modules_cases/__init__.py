"""The parts of the benchmark of modules: each measures one thing, prints it, and returns its figures and goals."""
