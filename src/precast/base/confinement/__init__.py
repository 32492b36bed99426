"""Confines a process that handles untrusted input: its user, network, files, system calls and resources."""
