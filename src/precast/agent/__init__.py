"""What runs on every node: small, because it runs as root on each of them. So far it knows how to collect facts."""
