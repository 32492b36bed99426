"""Errors of the HTTP interface itself."""

from precast.base.errors import Issue, Kind

NO_CREDENTIALS = Issue(
    "API-001",
    Kind.UNAUTHENTICATED,
    "this request needs {needed}, and it carries no credentials",
    "people send `Authorization: Bearer TOKEN`, nodes present their client certificate",
)
BAD_CREDENTIALS = Issue(
    "API-002",
    Kind.UNAUTHENTICATED,
    "the credentials are not valid",
    "the token or certificate may have expired or been revoked, or the token is incomplete",
)
NOT_ALLOWED = Issue("API-003", Kind.DENIED, "this request needs {needed}", "ask an admin for a token with that role")
BAD_BODY = Issue("API-004", Kind.INPUT, "the request body is invalid: {reason}", "see /v1/openapi.json")
TOO_LARGE = Issue("API-005", Kind.INPUT, "the request body is larger than {limit} bytes", "send less")
NO_ROUTE = Issue("API-006", Kind.NOT_FOUND, "there is nothing at this address", "see /v1/openapi.json")
TOO_BUSY = Issue(
    "API-007",
    Kind.LIMITED,
    "{who} has {limit} requests in progress",
    "wait until one of them is answered, then try again",
)
WRONG_METHOD = Issue("API-012", Kind.INPUT, "this address does not accept {method}", "it accepts {allowed}")
FAILED = Issue(
    "API-008", Kind.INTERNAL, "the server failed to handle this request", "see the server's log, and report this bug"
)
TOO_OFTEN = Issue(
    "API-009",
    Kind.LIMITED,
    "{who} sends more than {rate} requests a second",
    "send fewer; the header Retry-After of the response says when to try again",
)
NOT_AVAILABLE = Issue(
    "API-014",
    Kind.UNAVAILABLE,
    "the server cannot answer this request now",
    "try again later; the server's log has the reason",
)
TOO_MUCH_AT_ONCE = Issue(
    "API-015",
    Kind.LIMITED,
    "{who} sends too many request bodies at the same time",
    "wait until one of them is answered, then try again",
)

FOREIGN_PAGE = Issue(
    "API-013",
    Kind.DENIED,
    "only the pages of this server may send this request",
    "send the header {header}: 1, which pages of other sites cannot send",
)
TOO_SLOW = Issue(
    "API-010",
    Kind.INPUT,
    "the request body is received too slowly: the server has waited for {limit_s:g} s",
    "send it faster, or send less",
)
TOOK_TOO_LONG = Issue(
    "API-011",
    Kind.UNAVAILABLE,
    "the server gave this request up after {limit_s:g} s",
    "the server or its database is busy; check whether the request took effect before you try again",
)
