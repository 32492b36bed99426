"""What can go wrong with a run as a whole."""

from precast.base.errors import Issue, Kind

RUNS_ALREADY = Issue(
    "APPLY-001",
    Kind.CONFLICT,
    "another run holds this node: {holder}",
    "wait until it has ended (--wait SECONDS)",
)
LOST_LEASE = Issue(
    "APPLY-002",
    Kind.CONFLICT,
    "this run is no longer the one that holds the node: number {token}, now {current}",
    "start it again; what it has changed stays changed",
)
NO_SCHEDULE = Issue(
    "APPLY-003",
    Kind.INPUT,
    "{ref} names the schedule {schedule}, which the catalog does not have",
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
    "this node keeps no catalog: there is no {path}",
    "give one with --catalog FILE, or put it there: precast compile … --json",
)
NO_ORDER = Issue(
    "APPLY-007",
    Kind.CONFLICT,
    "the order {order} is not one to begin with: nobody gave it to this node, or a run has begun with it already",
    "an order is followed once; order another run with `precast run`",
)
CATALOG_UNREADABLE = Issue(
    "APPLY-006", Kind.UNAVAILABLE, "the catalog {path} cannot be read: {reason}", "check its owner and mode"
)
