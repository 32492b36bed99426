"""Readers: from the network formats of cloud-init and of clouds to the one network model."""
