"""The issues of names, tokens, targets and policies."""

from precast.base.errors import Issue, Kind

BAD_NAME = Issue(
    "WIRE-001",
    Kind.INPUT,
    "{name} is not a valid node name",
    "use lower-case letters, digits, dots, hyphens and underscores, begin with a letter or digit, at most 64 characters",
)
BAD_TOKEN = Issue("WIRE-002", Kind.INPUT, "this is not {sort} token", "copy the complete token as it was printed")
CERTIFICATE_EXPIRED = Issue(
    "WIRE-003",
    Kind.UNAUTHENTICATED,
    "the certificate of {node} expired {not_after:%Y-%m-%d %H:%M:%SZ}, by this server's clock ({now:%Y-%m-%d %H:%M:%SZ})",
    "if the clock is right, the agent renews the certificate by itself, or the machine must be enrolled again",
)
TARGET_SYNTAX = Issue("TARGET-001", Kind.INPUT, "{problem}", "{advice}")
UNKNOWN_FIELD = Issue(
    "TARGET-002",
    Kind.INPUT,
    "there is no field {field}{guess}",
    "the fields of {what} are {known}",
)
BAD_PATTERN = Issue(
    "TARGET-003",
    Kind.INPUT,
    "this pattern is not supported: {reason}",
    "plain regular expressions work: . [ ] ( ) | * + ? {{2,5}} ^ $",
)
TARGET_TOO_LARGE = Issue(
    "TARGET-004", Kind.INPUT, "{what} is more than the limit of {limit}", "use a smaller query, or several queries"
)
NO_TARGETS = Issue(
    "TARGET-005",
    Kind.INPUT,
    "no nodes were given",
    "name nodes, such as web1, 'web*' or \"role = 'db'\"; --all selects every node",
)
BAD_RELEASE_POINT = Issue(
    "RELEASE-003",
    Kind.INPUT,
    "{text!r} is not a release, a commit or a time",
    "write a number from `precast release list`, at least 7 characters of a commit or version, or 2026-11-15T22:00Z",
)
BAD_WINDOW = Issue(
    "POLICY-001",
    Kind.INPUT,
    "{window!r} is not a valid window: {reason}",
    "write a window as 'Sun 02:00 4h', 'daily 22:30 90m' or 'Sun 02:00 4h Europe/Berlin'; the default zone is UTC",
)
