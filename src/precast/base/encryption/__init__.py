"""Encryption: files in the format of `age` (age-encryption.org/v1), which that program opens too, and small values of a database.

Only servers and commands for operators import this package: it needs the library `cryptography`, which the agent's daemon never loads.
"""
