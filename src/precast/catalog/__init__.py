"""A catalog: its body and digest, its envelope, its source map, the order in which it is applied, and the net of that order. Pure."""
