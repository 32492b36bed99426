"""The parts of an expansion: where tasks run, what they wait for there, and the order of their instances."""
