"""Issues that several features raise; every other issue is declared in the `issues` module of its feature."""

from precast.base.errors import Issue, Kind

NO_SUCH_NODE = Issue("NODE-001", Kind.NOT_FOUND, "there is no node {node}", "`precast node list` shows the nodes")
BAD_VALUE = Issue("AUTH-002", Kind.INPUT, "{what} must be between {least} and {most}", "choose another value")
UNPRINTABLE = Issue(
    "AUTH-005",
    Kind.INPUT,
    "{what} contains a character that cannot be printed",
    "leave out line breaks and control characters",
)
