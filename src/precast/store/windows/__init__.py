"""The store of maintenance windows."""
