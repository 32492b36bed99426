"""Makes a catalog: declares and evaluates classes, defines and resources in the order Puppet does."""
