"""The signer: the only process that has the authority's key. It signs what it can verify itself, and nothing else."""
