"""What every other package stands on: coded errors, source spans, clock, ids, canonical JSON and digests."""
