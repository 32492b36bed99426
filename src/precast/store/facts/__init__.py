"""Tables of facts: the inbox, the stored fact sets, their volatile parts and their history."""
