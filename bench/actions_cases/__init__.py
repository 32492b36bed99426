"""The parts of the benchmark of actions: the simulation of backpressure, Salt beside us, and the fleet of light agents."""
