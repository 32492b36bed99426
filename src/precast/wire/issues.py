"""What can be wrong with something that travels."""

from precast.base.errors import Issue, Kind

BAD_NAME = Issue(
    "WIRE-001",
    Kind.INPUT,
    "{name} is not a name for a node",
    "use lower-case letters, digits, dots, hyphens and underscores, beginning with a letter or digit, 64 at most",
)
BAD_TOKEN = Issue("WIRE-002", Kind.INPUT, "this is not {sort} token", "copy the whole token, as it was printed once")
