"""The values of a plan: the types of its parameters, and the work of each type of task."""
