"""The verbs of the signer: what each verifies before it signs."""
