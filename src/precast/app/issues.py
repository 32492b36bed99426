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
UNKNOWN_CLIENT = Issue(
    "CLI-041",
    Kind.INPUT,
    "there is no user {name} on this machine",
    "create the user, or name the server's user with --client",
)
UNKNOWN_LIMIT = Issue("CLI-042", Kind.INPUT, "the signer has no verb {verb}", "it is one of: {verbs}")
