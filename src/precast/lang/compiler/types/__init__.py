"""The managed types and data types that one compile knows, by name, and data types as catalog data."""
