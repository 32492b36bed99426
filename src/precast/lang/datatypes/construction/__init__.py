"""Makes data types: from `T[…]`, from text, and from the definitions of Object types and TypeSets."""
