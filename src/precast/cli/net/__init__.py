"""`precast net`: validates, analyses and draws the nets of plans."""
