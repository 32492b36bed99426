"""The HTTP server: routing, authorisation, quotas, deadlines, TLS, responses, metrics, and the API's own description."""
