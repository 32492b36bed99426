"""What the agent keeps on its node: the local store with its notes, the spool of records to send, the daemon's lock and wake-up pipe."""
