"""Precast compiles every node's configuration ahead of time, holds it, and sets it in place on cue."""

__version__ = "0.1.0"
