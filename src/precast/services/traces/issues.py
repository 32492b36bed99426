"""Issues of traces and of the environment versions they are replayed against."""

from precast.base.errors import Issue, Kind

CONTENT_GONE = Issue(
    "COMPILE-004",
    Kind.UNAVAILABLE,
    "content {digest} no longer exists",
    "deploy the environment again; nodes are then decided upon with the new version",
)
NOT_DETERMINISTIC = Issue(
    "TRACE-001",
    Kind.INTERNAL,
    "a compile asked another question than before after the same answers (read {position} of chain {chain})",
    "report it with `precast support-bundle`; the compile is retried, and no node is served another catalog because of it",
)
