"""Boots the same machine with cloud-init and with Precast, and compares the two machines afterwards."""
