"""Issues of the sessions between agents and the server."""

from precast.base.errors import Issue, Kind

DUPLICATE_NODE = Issue(
    "SESSION-001",
    Kind.CONFLICT,
    "another machine is connected as {node}",
    "a copy of a machine needs an identity of its own: remove its agent's state directory and enrol it under another name",
)
NO_COMMON_VERSION = Issue(
    "SESSION-002",
    Kind.INPUT,
    "the agent supports versions {offered} of the session protocol, this server {known}",
    "upgrade the older of the two",
)
TOO_MANY_SOCKETS = Issue(
    "SESSION-004", Kind.UNAVAILABLE, "{node} already has {limit} open connections", "wait until one of them is closed"
)
NOT_A_WEBSOCKET = Issue(
    "SESSION-005", Kind.INPUT, "this address accepts websockets only", "only `precast agent` connects to it"
)
NEVER_CONNECTED = Issue(
    "SESSION-006",
    Kind.NOT_FOUND,
    "{node} has never been connected",
    "start `precast agent` on it, or check its name: `precast node list`",
)
