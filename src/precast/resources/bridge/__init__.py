"""Applies resources of types that Precast does not implement, with Ruby types and providers of modules and the node's own Puppet."""
