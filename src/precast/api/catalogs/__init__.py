"""Routes about catalogs, releases, and the origin of resources in the code."""
