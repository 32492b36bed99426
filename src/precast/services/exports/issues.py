"""Issues of exported resources."""

from precast.base.errors import Issue, Kind

TOO_MANY = Issue(
    "EXPORT-001",
    Kind.UNAVAILABLE,
    "the nodes of {environment} export more than {limit} of {type}, too many to collect",
    "let fewer nodes export it, or split the nodes into environments; `precast exports list {type}` shows who exports it",
)
BAD_SETTING = Issue(
    "EXPORT-002",
    Kind.INPUT,
    "{setting} says nothing about exports",
    "it is released, staged or everywhere",
)
