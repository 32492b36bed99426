"""Collectors: their queries, and the resources that they find in the catalog and among the exports of other nodes."""
