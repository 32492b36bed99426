"""What can go wrong on the command line itself."""

from precast.base.errors import Issue, Kind

USAGE = Issue("CLI-001", Kind.INPUT, "{problem}", "{usage}")
INTERNAL = Issue(
    "CLI-002",
    Kind.INTERNAL,
    "internal error: {problem}",
    "this is a bug of Precast; run again with PRECAST_DEBUG=1 and report what it prints",
)
OUTPUT = Issue("CLI-003", Kind.UNAVAILABLE, "cannot write the output: {reason}", "check where standard output goes")
