"""Executions of a net: the state that drivers advance, the simulation that predicts it, and changes for "what if" questions."""
