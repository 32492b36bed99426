"""The two databases behind one interface: queries, transactions, group commit, shared reads and wake-ups."""
