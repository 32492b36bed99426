"""Brings a fresh machine from nothing to a configured, enrolled node, as fast as its data allows.

Data sources say what they can tell (capabilities), config modules say what they need; one net runs both, so that a module starts as soon
as what it needs is known and trusted. It reads what cloud-init reads. What runs here runs as root on every machine: it stays small.
"""
