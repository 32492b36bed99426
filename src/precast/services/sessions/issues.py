"""Issues of the sessions between agents and the server."""

from precast.base.errors import Issue, Kind
from precast.wire.sessions import OVERTAKEN

REFUSED_MACHINE = Issue(
    "SESSION-001",
    Kind.CONFLICT,
    "this machine ({machine}) is a copy of {node}, or has an earlier state of it: an operator has chosen another machine",
    "enrol it under a name of its own: `precast agent enrol --again --name NAME --token-file FILE`; if it is the right machine, run"
    " `precast node choose-machine {node} {machine}`",
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
HELD_NODE = Issue(
    "SESSION-008",
    Kind.CONFLICT,
    "{node} is on hold: two machines use its certificate, or it was set back to an earlier state; this machine is {machine}",
    "compare the machines with `precast node show {node}`, then choose the right one: `precast node choose-machine {node} {machine}`",
)
OVERTAKEN_HELLO = Issue(
    OVERTAKEN,
    Kind.UNAVAILABLE,
    "{node} has connected again since it sent this message",
    "nothing has to be done: the agent connects again",
)
NO_SUCH_MACHINE = Issue(
    "SESSION-010",
    Kind.NOT_FOUND,
    "{node} has no machine {machine} to choose from",
    "`precast node show {node}` lists the machines that use its certificate",
)
OLD_TERM = Issue(
    "SESSION-011",
    Kind.UNAVAILABLE,
    "the database of this server is not the newest of the site: its term is {term}, and the node has seen {newer}",
    "stop this server, or give it the database that was promoted or restored last; if this one is right: precast db raise-term {newer}",
)
NEVER_CONNECTED = Issue(
    "SESSION-006",
    Kind.NOT_FOUND,
    "{node} has never been connected",
    "start `precast agent` on it, or check its name: `precast node list`",
)
