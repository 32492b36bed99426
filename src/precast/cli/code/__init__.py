"""`precast env`: deploys, lists, compares and removes versions of environments, with their modules, on a server or from local files."""
