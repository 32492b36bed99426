"""What can be wrong with a query."""

from precast.base.errors import Issue, Kind

NOT_INDEXED = Issue(
    "QUERY-001",
    Kind.UNAVAILABLE,
    "{count} released catalogs are not looked through yet",
    "try again in a moment; if it lasts, look at the server's log",
)
BAD_CURSOR = Issue(
    "QUERY-002",
    Kind.INPUT,
    "this is no place to go on from",
    "take `after` from the answer before, with the same query",
)
BAD_LIMIT = Issue("QUERY-003", Kind.INPUT, "a page of {limit} rows cannot be had", "ask for 1 to {most}")
TOO_MANY_GROUPS = Issue(
    "QUERY-004",
    Kind.INPUT,
    "there are more than {limit} groups",
    "group by something with fewer values, or narrow the query down",
)
TOO_SLOW = Issue(
    "QUERY-005",
    Kind.INPUT,
    "this query takes more than {seconds:g} s",
    "narrow it down: types, titles and values of parameters are indexed, and so are the reports of a node and what failed",
)
NO_SUCH_ENTITY = Issue("QUERY-006", Kind.INPUT, "there is nothing called {about!r} to ask for", "it is one of: {known}")
