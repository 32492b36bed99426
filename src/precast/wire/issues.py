"""What can be wrong with something that travels."""

from precast.base.errors import Issue, Kind

BAD_NAME = Issue(
    "WIRE-001",
    Kind.INPUT,
    "{name} is not a name for a node",
    "use lower-case letters, digits, dots, hyphens and underscores, beginning with a letter or digit, 64 at most",
)
BAD_TOKEN = Issue("WIRE-002", Kind.INPUT, "this is not {sort} token", "copy the whole token, as it was printed once")
TARGET_SYNTAX = Issue("TARGET-001", Kind.INPUT, "{problem}", "{advice}")
UNKNOWN_FIELD = Issue(
    "TARGET-002",
    Kind.INPUT,
    "there is no {field} to ask for{guess}",
    "of {what} it is {known}",
)
BAD_PATTERN = Issue(
    "TARGET-003",
    Kind.INPUT,
    "this pattern cannot be used: {reason}",
    "plain regular expressions work: . [ ] ( ) | * + ? {{2,5}} ^ $",
)
TARGET_TOO_LARGE = Issue(
    "TARGET-004", Kind.INPUT, "{what} is more than the limit of {limit}", "ask for less, or in several steps"
)
NO_TARGETS = Issue(
    "TARGET-005",
    Kind.INPUT,
    "nothing says which nodes are meant",
    "name them, as web1 or 'web*' or \"role = 'db'\"; all of them are --all",
)
BAD_WINDOW = Issue(
    "POLICY-001",
    Kind.INPUT,
    "{window!r} is no window: {reason}",
    "write as 'Sun 02:00 4h', 'daily 22:30 90m' or 'Sun 02:00 4h Europe/Berlin'; without a zone it is UTC",
)
