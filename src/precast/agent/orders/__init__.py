"""Orders: what servers tell this node to do. `registry` lists the kinds; each kind is one file that declares its message, its storage,
the chore that carries it out, and its answers."""
