"""Keys, certificates and requests of the module openssl: `ssl_pkey`, `x509_cert`, `x509_request`, and what they share in `signing`."""
