"""Turns a fresh machine into a configured, enrolled node, as fast as its data sources answer.

Data sources declare what they offer (capabilities), config modules declare what they need; one net runs both, so a module starts as soon
as its capabilities are known and trusted. It reads cloud-init's formats. This code runs as root on every machine, so it stays small.
"""
