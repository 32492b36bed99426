"""The errors of a run as a whole."""

from precast.base.errors import Issue, Kind

RUNS_ALREADY = Issue(
    "APPLY-001",
    Kind.CONFLICT,
    "another run is active on this node: {holder}",
    "wait until it has ended (--wait SECONDS)",
)
LOST_LEASE = Issue(
    "APPLY-002",
    Kind.CONFLICT,
    "this run has lost the node's lease to another run (its lease is number {token}, the current one {current})",
    "start it again; the changes that it has made stay",
)
NO_SCHEDULE = Issue(
    "APPLY-003",
    Kind.INPUT,
    "{ref} names the schedule {schedule}, which is not in the catalog",
    "declare it, or use hourly, daily, weekly, monthly or never",
)
BAD_SCHEDULE = Issue(
    "APPLY-004",
    Kind.INPUT,
    "the schedule {schedule} cannot be used: {reason}",
    "see `precast doc type schedule`",
)
NO_CATALOG = Issue(
    "APPLY-005",
    Kind.NOT_FOUND,
    "this node has no cached catalog: {path} does not exist",
    "give a catalog with --catalog FILE, or write one to that path with `precast compile … --json`",
)
NO_ORDER = Issue(
    "APPLY-007",
    Kind.CONFLICT,
    "the order {order} cannot begin: no server has granted it to this node, or a run has begun it already",
    "the daemon begins each order when a server has granted it; order another run with `precast run`",
)
NO_SECRET = Issue(
    "APPLY-008",
    Kind.UNAVAILABLE,
    "the secret {ref} cannot be used: {reason}",
    "have the node fetch its catalog again, with `precast agent fetch` or by connecting it to a server",
)
CATALOG_UNREADABLE = Issue(
    "APPLY-006", Kind.UNAVAILABLE, "the catalog {path} cannot be read: {reason}", "check its owner and mode"
)
