"""The errors of futures on the node."""

from precast.base.errors import Issue, Kind

NO_VALUE = Issue(
    "APPLY-009",
    Kind.UNAVAILABLE,
    "{reason}",
    "`precast future why` says who waits for whom; run the node that promises the value again",
)
BAD_VALUE = Issue(
    "APPLY-010",
    Kind.INPUT,
    "the value of {key} cannot be used: {reason}",
    "see `precast doc type promise` for what a promise may give",
)
NOT_KNOWN = Issue(
    "APPLY-011",
    Kind.NOT_FOUND,
    "{reason}",
    "wait for the value with --wait, or see with `precast agent status` whether this node is connected",
)
FENCED = Issue(
    "APPLY-012",
    Kind.CONFLICT,
    "another run has begun on this node since (the lease of this one is number {fence}, the current one {current})",
    "nothing was promised; the later run promises what its catalog says",
)
