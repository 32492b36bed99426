"""What every other package uses: coded errors, source spans, clock, ids, settings, canonical JSON, digests, files and programs."""
