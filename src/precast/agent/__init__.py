"""What runs on every node: small, because it runs as root on each of them. It keeps a node connected and collects its facts."""
