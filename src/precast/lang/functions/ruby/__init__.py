"""Functions that modules write in Ruby, executed by the Ruby subset: their declarations, their calls, and Puppet's own classes."""
