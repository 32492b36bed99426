"""Type code of modules, executed by the Ruby subset: validate, munge, defaults, automatic relations, as Puppet runs it on the node."""
