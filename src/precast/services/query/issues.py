"""Issues of targets and of queries over nodes, resources and reports."""

from precast.base.errors import Issue, Kind

NOT_INDEXED = Issue(
    "QUERY-001",
    Kind.UNAVAILABLE,
    "{count} released catalogs are not indexed yet",
    "try again in a few seconds; if it persists, see the server's log",
)
BAD_CURSOR = Issue(
    "QUERY-002",
    Kind.INPUT,
    "the cursor of this page is invalid",
    "pass the value of `after` from the previous response, with the same query",
)
BAD_LIMIT = Issue("QUERY-003", Kind.INPUT, "a page cannot have {limit} rows", "ask for 1 to {most}")
TOO_MANY_GROUPS = Issue(
    "QUERY-004",
    Kind.INPUT,
    "the result has more than {limit} groups",
    "group by a field with fewer values, or narrow the query down",
)
TOO_SLOW = Issue(
    "QUERY-005",
    Kind.INPUT,
    "this query takes more than {seconds:g} s",
    "narrow it down: types, titles and values of parameters are indexed, and so are the reports of a node and what failed",
)
NO_SUCH_ENTITY = Issue("QUERY-006", Kind.INPUT, "{about!r} cannot be queried", "the entity is one of: {known}")
PATTERN_TOO_COSTLY = Issue(
    "QUERY-007",
    Kind.INPUT,
    "the pattern {pattern} takes too many steps on the texts it is compared with",
    "write it with fewer repetitions, or compare with = or a glob first",
)
ALL_AND_TARGETS = Issue(
    "TARGET-006",
    Kind.INPUT,
    "the request names targets and also asks for all nodes",
    "give targets, or --all, not both",
)
NO_MATCHING_NODES = Issue(
    "TARGET-007",
    Kind.NOT_FOUND,
    "{what}",
    "`precast node list` shows the nodes, `precast node list --deactivated` also those that are no longer targets",
)
TARGETS_TOO_SLOW = Issue(
    "TARGET-008",
    Kind.UNAVAILABLE,
    "finding the nodes took longer than {seconds:.0f} s",
    "query fewer facts, or filter by name and trusted data first",
)
