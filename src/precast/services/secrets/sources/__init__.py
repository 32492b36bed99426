"""Sources of secrets: files on the server, HashiCorp Vault and OpenBao."""
