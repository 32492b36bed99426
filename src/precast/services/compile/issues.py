"""Issues of compiles in worker processes."""

from precast.base.errors import Issue, Kind

COMPILE_LATE = Issue(
    "COMPILE-001",
    Kind.UNAVAILABLE,
    "the compile for {node} did not finish within {limit_s:g} s",
    "look for a loop in the code, `precast compile` shows it on your own machine; the limit is the server's setting compile_limit",
)
COMPILE_MEMORY = Issue(
    "COMPILE-002",
    Kind.UNAVAILABLE,
    "the compile for {node} needed more than {limit_mb} MB",
    "look for data that grows without bound; the limit is the server's setting compile_memory",
)
COMPILE_CRASHED = Issue(
    "COMPILE-003",
    Kind.UNAVAILABLE,
    "the compile worker ended while it compiled for {node}: {reason}",
    "the compile is retried; if it keeps failing, report it with `precast support-bundle`",
)
