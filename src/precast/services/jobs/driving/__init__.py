"""What one job does while a server drives it: its net, its windows, its releases, its rate."""
