"""Facts that modules add in Ruby (`Facter.add`), read by the Ruby subset on the node: resolutions, and what they may use there."""
