"""Declarations of managed types: the attributes that a resource may have in a catalog. How they are applied is in `resources`."""
