"""What can go wrong at the edge."""

from precast.base.errors import Issue, Kind

NO_CREDENTIALS = Issue(
    "API-001",
    Kind.UNAUTHENTICATED,
    "this needs {needed}, and the request shows none",
    "people send `Authorization: Bearer TOKEN`, nodes their client certificate",
)
BAD_CREDENTIALS = Issue(
    "API-002",
    Kind.UNAUTHENTICATED,
    "these credentials are not good",
    "the token or certificate may be expired, revoked or cut off",
)
NOT_ALLOWED = Issue("API-003", Kind.DENIED, "this needs {needed}", "ask an admin for a token with that role")
BAD_BODY = Issue("API-004", Kind.INPUT, "the body is not what this takes: {reason}", "see /v1/openapi.json")
TOO_LARGE = Issue("API-005", Kind.INPUT, "the body is larger than {limit} bytes", "send less")
NO_ROUTE = Issue("API-006", Kind.NOT_FOUND, "there is nothing at this address", "see /v1/openapi.json")
TOO_BUSY = Issue(
    "API-007", Kind.LIMITED, "{who} has {limit} requests under way", "wait for one of them, then try again"
)
WRONG_METHOD = Issue("API-012", Kind.INPUT, "{method} is not for this address", "it takes {allowed}")
FAILED = Issue("API-008", Kind.INTERNAL, "something went wrong here", "the server's log says more; please report it")
TOO_OFTEN = Issue(
    "API-009",
    Kind.LIMITED,
    "{who} asks more than {rate} times a second",
    "ask less often; the answer's Retry-After says when again",
)
FOREIGN_PAGE = Issue(
    "API-013",
    Kind.DENIED,
    "this is for the pages of this server only",
    "send the header {header}: 1, which no page of another site can",
)
TOO_SLOW = Issue("API-010", Kind.INPUT, "the body has not come within {limit_s:g} s", "send it faster, or less of it")
TOOK_TOO_LONG = Issue(
    "API-011",
    Kind.UNAVAILABLE,
    "this was given up after {limit_s:g} s",
    "look whether it has happened before you try again; the server is busy, or its database is",
)
