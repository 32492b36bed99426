"""The work queue: items that workers claim with a lease and a fence, and dead letters."""
