"""Tables of code: content by digest, and the versions of environments."""
