"""Commands about maintenance windows."""
