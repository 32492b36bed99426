"""Talking to servers without privileges: the confinement of network processes, their frames, and the downloads of a fetch."""
