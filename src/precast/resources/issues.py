"""Errors of resources on a node. Codes 001 to 019 belong to the contract, 020 to 099 to the engine's types."""

from precast.base.errors import Issue, Kind

CANNOT_START = Issue(
    "RESOURCE-001",
    Kind.UNAVAILABLE,
    "cannot run {program}: {reason}",
    "check that it is installed and may be executed",
)
TOO_SLOW = Issue(
    "RESOURCE-002",
    Kind.UNAVAILABLE,
    "{program} was killed after {seconds} seconds",
    "give it more time (timeout => SECONDS) or find out what it waits for",
)
NO_CONTENT = Issue(
    "RESOURCE-003",
    Kind.NOT_FOUND,
    "the content {digest} is not on this machine",
    "name the environment whose catalog this is with --environment",
)
NOT_LISTED = Issue(
    "RESOURCE-004",
    Kind.INPUT,
    "existing resources of type {type} cannot be listed",
    "name one resource: precast resource {type} TITLE",
)
NO_TYPE = Issue(
    "RESOURCE-005",
    Kind.INPUT,
    "Precast cannot apply resources of type {type} yet",
    "supported types: {types}",
)
BAD_VALUE = Issue(
    "RESOURCE-006",
    Kind.INPUT,
    "{name} cannot be {value}: {wanted}",
    "see `precast doc type {type}`",
)
MISSING_VALUE = Issue(
    "RESOURCE-007",
    Kind.INPUT,
    "{name} must be given: {reason}",
    "see `precast doc type {type}`",
)
NOT_UNDER_ROOT = Issue(
    "RESOURCE-008",
    Kind.INPUT,
    "resources of type {type} cannot be applied below {root}",
    "add --chroot if {root} contains a whole system",
)
NO_PROVIDER = Issue(
    "RESOURCE-009",
    Kind.INPUT,
    "{type} has no provider {provider} here",
    "available providers: {providers}",
)
BAD_OUTPUT = Issue(
    "RESOURCE-161",
    Kind.INPUT,
    "the output of the command of the promise {key} cannot be its value: {reason}",
    "run the command by hand as the user that the promise names",
)
