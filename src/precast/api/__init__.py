"""The way in: HTTP on one TLS port. Parse, authorise, call a service, answer."""
