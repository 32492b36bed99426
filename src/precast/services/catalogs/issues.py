"""Issues of released catalogs and of the origins of their resources."""

from precast.base.errors import Issue, Kind

NO_SUCH_RESOURCE = Issue(
    "ORIGIN-001",
    Kind.NOT_FOUND,
    "the catalog of {node} has no {resource}",
    "write it as the catalog does, for example File[/etc/motd]",
)
NO_CATALOG = Issue(
    "RELEASE-001",
    Kind.NOT_FOUND,
    "there is no catalog for {node}: {reason}",
    "see `precast catalog show {node}` and `precast catalog errors`",
)
HELD_NODE = Issue(
    "RELEASE-002",
    Kind.CONFLICT,
    "{node} is on hold: two machines use its certificate, and neither gets another catalog",
    "`precast node show {node}` shows the machines; choose one with `precast node choose-machine`",
)
NO_ENTRY = Issue(
    "RELEASE-006",
    Kind.NOT_FOUND,
    "there is no such catalog of an entry point for this node now",
    "a node can fetch one while a plan that applies it is at work on the node: see `precast plan status`",
)
NOT_SERVED = Issue(
    "RELEASE-007",
    Kind.CONFLICT,
    "this node is served another catalog than {digest}",
    "the agent fetches its catalog again by itself; `precast agent fetch` does it now",
)
NO_SECRET = Issue(
    "RELEASE-008",
    Kind.NOT_FOUND,
    "one of these secrets is not in the catalog of this node",
    "a node gets only the secrets that its catalog names; `precast agent fetch` fetches the catalog with them",
)
NO_SUCH_RELEASE = Issue(
    "RELEASE-005",
    Kind.NOT_FOUND,
    "there is no release {number}, or no node has kept it",
    "`precast release list` shows the releases; the setting `keep_releases` says how many of each node are kept",
)
NOT_CONTINUED = Issue(
    "RELEASE-004",
    Kind.CONFLICT,
    "{kind} {number} cannot be continued: {reason}",
    "`precast release list` shows its targets; if it is finished, all of its nodes are done",
)
