"""Drawings of plans for people: which tasks there are, what waits for what, and how far a run is; as SVG or DOT."""
