"""The commands for the operators of a server: `server`, `db`, `config`, `web` and `support-bundle`."""
