"""Facts that modules write in Ruby: the process that runs them, what they may use of the node, and the source that starts the process."""
