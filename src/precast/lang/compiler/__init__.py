"""The compiler: declares and evaluates classes, defines and resources in Puppet's order, and makes the catalog."""
