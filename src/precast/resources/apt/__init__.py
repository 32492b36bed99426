"""What apt trusts: `apt_key`, and `openpgp`, which parses keys for it and for the first boot."""
