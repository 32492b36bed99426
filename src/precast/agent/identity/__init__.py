"""The identity of this node: its key and certificate, how it enrols, and TLS with them."""
