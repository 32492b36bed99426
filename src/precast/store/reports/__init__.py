"""Tables of reports: runs, their events, and the partitions that hold them on PostgreSQL."""
