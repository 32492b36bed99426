"""Encrypted files in the format of `age` (age-encryption.org/v1), which that program opens too.

Only commands for operators import this package: it needs the library `cryptography`, which the agent's daemon never loads.
"""
