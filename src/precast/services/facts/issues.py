"""Issues of fact sets: receiving, reading and comparing them."""

from precast.base.errors import Issue, Kind

WRONG_DIGEST = Issue(
    "FACTS-001",
    Kind.INPUT,
    "the facts of {node} do not match their digest",
    "send the facts and the digest again; one of them was changed on the way",
)
NO_FACTS = Issue(
    "FACTS-002", Kind.NOT_FOUND, "{node} has sent no facts", "run `precast agent facts` on the node, or check its name"
)
BAD_DIFFERENCE = Issue(
    "FACTS-003",
    Kind.INPUT,
    "facts are compared with another node or with an earlier time: {problem}",
    "give other=NODE, or since=TIME as 2026-11-15T22:00:00Z",
)
TOO_MUCH_CHANGED = Issue(
    "FACTS-004", Kind.INPUT, "more than {limit} facts of {node} have changed since then", "ask for a later time"
)
NO_MAPPING = Issue(
    "FACTS-005",
    Kind.INPUT,
    "the facts that {node} sent are not a JSON object: {reason}",
    "send `volatile`, and `stable` if it was asked for, as objects, or as zlib streams in `packed_volatile` and `packed`",
)
HELD_NODE = Issue(
    "FACTS-007",
    Kind.CONFLICT,
    "{node} is on hold: two machines use its certificate, and the facts of neither are stored",
    "`precast node show {node}` shows the machines; choose one with `precast node choose-machine`",
)
UNDECIDABLE = Issue(
    "FACTS-006",
    Kind.INTERNAL,
    "no decision is possible on the new facts of {node}: {reason}",
    "the stored facts of the node may be damaged: see `precast db check`; `precast db work --requeue facts {node}` retries",
)
