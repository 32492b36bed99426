"""Issues of futures."""

from precast.base.errors import Issue, Kind

TOO_LARGE = Issue(
    "FUTURE-001",
    Kind.INPUT,
    "the value of {key} has {size} bytes, more than {limit}",
    "promise a shorter value, such as the address of a file that has the rest",
)
NO_VALUE = Issue(
    "FUTURE-002",
    Kind.NOT_FOUND,
    "{key} has no value in {environment}",
    "`precast future list` shows the keys that have values; `precast future why {key}` shows who promises it",
)
BAD_KEY = Issue(
    "FUTURE-003",
    Kind.INPUT,
    "{key} is not a key of a future: {reason}",
    "a key has 1 to 200 characters and no control characters",
)
BAD_VALUE = Issue(
    "FUTURE-004",
    Kind.INPUT,
    "the value of {key} is not JSON: {reason}",
    "write a text as '\"text\"', or leave out --json to put a plain text",
)
NO_CATALOG = Issue(
    "FUTURE-005",
    Kind.NOT_FOUND,
    "this catalog is not one that the node may apply now",
    "release a catalog to the node, or let its agent fetch the one that is served",
)
