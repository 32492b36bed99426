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
ANSWER_LATE = Issue(
    "TRACE-002",
    Kind.UNAVAILABLE,
    "deciding about nodes of {environment} took more than {limit_s:g} s of {window_s:g} s for {what}",
    "simplify the expression or the file; expressions without look-around, back-references and repeated groups that may be empty "
    "never take long",
)
ANSWER_FAILED = Issue(
    "TRACE-003",
    Kind.UNAVAILABLE,
    "the process that evaluates {what} of {environment} ended: {reason}",
    "make the expression or the file smaller, and deploy again",
)
ANSWER_REFUSED = Issue(
    "TRACE-004",
    Kind.UNAVAILABLE,
    "{what} of {environment} cannot be evaluated: {reason}",
    "correct the code, and deploy again",
)
TOO_MANY_KEYS = Issue(
    "TRACE-005",
    Kind.UNAVAILABLE,
    "the data files of {environment} have more than {limit} keys that compiles read from",
    "split the environment, or move data that no code reads out of its hierarchy",
)
