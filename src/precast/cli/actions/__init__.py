"""`precast action`: what nodes shall do at which times, by a schedule on the server."""
