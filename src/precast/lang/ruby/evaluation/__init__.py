"""Turns the tree of Ruby code into closures, which run faster than a walk over the tree: templates are rendered for every node."""
