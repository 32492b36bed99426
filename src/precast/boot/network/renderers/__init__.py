"""Renderers: from the network model to the files of netplan, ifupdown, NetworkManager and systemd-networkd."""
