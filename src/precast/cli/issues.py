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
NO_FILE = Issue(
    "CLI-010", Kind.NOT_FOUND, "cannot read {path}: {reason}", "give the path of a file, or - for standard input"
)
NOT_TEXT = Issue(
    "CLI-011", Kind.INPUT, "{path} is no text in UTF-8: {reason}", "convert it to UTF-8, or give another file"
)
TOO_LARGE = Issue("CLI-012", Kind.INPUT, "{path} is larger than {limit_bytes} bytes", "split it, or make it smaller")
NOT_WRITTEN = Issue(
    "CLI-013",
    Kind.UNAVAILABLE,
    "cannot write {path}: {reason}",
    "what was there before is unchanged; check the directory and the space left",
)
