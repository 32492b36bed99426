"""The sealed values of secrets, the wrapped keys of environments, and the catalogs that refer to the secrets."""
