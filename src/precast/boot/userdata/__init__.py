"""User data: from the bytes of a data source to one merged configuration and its scripts."""
