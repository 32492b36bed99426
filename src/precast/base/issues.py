"""What can go wrong below every other package."""

from precast.base.errors import Issue, Kind

NOT_FINITE = Issue(
    "JSON-001",
    Kind.INPUT,
    "{value} has no form in JSON",
    "use a finite number, or a string",
)
TOO_DEEP = Issue(
    "JSON-002",
    Kind.INPUT,
    "the value is nested more than {limit} levels deep",
    "flatten the data; nothing real needs this depth",
)
NOT_JSON = Issue(
    "JSON-003",
    Kind.INPUT,
    "the value cannot be written as JSON: {reason}",
    "use only null, booleans, numbers, Unicode strings, arrays, and objects with string keys",
)
