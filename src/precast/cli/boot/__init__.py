"""`precast boot`: configures a machine at its first boot, validates user data, and shows the result."""
