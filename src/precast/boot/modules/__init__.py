"""Contains the config modules. Each declares its keys, needs and order, and has one function that applies its keys to the machine."""
