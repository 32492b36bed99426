"""`precast ca`, `token` and `audit`: the authority with its certificates, the tokens of people and machines, and the audit log."""
