"""Errors of commands and of purging. Codes 020 to 099."""

from precast.base.errors import Issue, Kind

NO_PATH = Issue(
    "RESOURCE-020",
    Kind.INPUT,
    "'{command}' is not qualified and no path was specified. Please qualify the command or specify a path.",
    "write the program's absolute path, or give path => [...]",
)
WRONG_EXIT = Issue(
    "RESOURCE-021",
    Kind.UNAVAILABLE,
    "{command} returned {exit_code} instead of one of {wanted}",
    "run it by hand; logoutput => true shows what it prints",
)
NOT_PURGED = Issue(
    "RESOURCE-022",
    Kind.INPUT,
    "resources of type {type} cannot be purged",
    "declare each resource that must be absent",
)
