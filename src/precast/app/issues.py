"""Errors of a server that starts: its data directory and its port."""

from precast.base.errors import Issue, Kind

CANNOT_LISTEN = Issue(
    "CLI-026",
    Kind.UNAVAILABLE,
    "cannot listen on {address}: {reason}",
    "choose another address with --listen, or stop the process that uses this one",
)
NO_DIRECTORY = Issue(
    "CLI-027",
    Kind.UNAVAILABLE,
    "cannot create the directory {path}: {reason}",
    "check who owns its parent directory, or choose another one with --data",
)
