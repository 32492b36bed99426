"""The errors of nets: in a declaration, during an execution, and those that a check finds."""

from precast.base.errors import Issue, Kind

DECLARED_TWICE = Issue("NET-001", Kind.INPUT, "{name} is declared twice", "give one of the two another name")
UNKNOWN_PLACE = Issue("NET-002", Kind.INPUT, "place {name} is not declared{guess}", "declare it: place {name}")
UNKNOWN_STEP = Issue(
    "NET-003", Kind.INPUT, "step {name} is not declared{guess}", "only steps can be needed; declare it: step {name}"
)
BAD_NUMBER = Issue("NET-004", Kind.INPUT, "{what} of {name} is {number}", "it must be {wanted}")
OVERFULL = Issue(
    "NET-005",
    Kind.INPUT,
    "place {name} starts with {tokens} tokens and holds at most {capacity}",
    "raise its capacity or start with fewer tokens",
)
NOT_ENABLED = Issue(
    "NET-006", Kind.CONFLICT, "{name} cannot start: {reason}", "start only what `enabled()` or `start_next()` returns"
)
NOT_RUNNING = Issue(
    "NET-007", Kind.CONFLICT, "{name} is not running, so it cannot finish", "finish each start once; see `running`"
)
WRONG_SNAPSHOT = Issue(
    "NET-008",
    Kind.CONFLICT,
    "the snapshot does not fit this net: {reason}",
    "restore it with the net it was taken from",
)
AUTO_CYCLE = Issue(
    "NET-009",
    Kind.INPUT,
    "automatic transitions form an endless cycle: {names}",
    "let one of them take a token that nothing gives back",
)

SYNTAX = Issue(
    "NET-010", Kind.INPUT, "expected {wanted}, found {found}", "the notation: docs/reference/net-notation.md"
)
UNKNOWN_WORD = Issue(
    "NET-011",
    Kind.INPUT,
    "{word} is not a statement of this notation{guess}",
    "start the line with one of: {known}",
)
STRAY_CLAUSE = Issue(
    "NET-012",
    Kind.INPUT,
    "'{word}' belongs to a {owner}, and no {owner} stands above it",
    "write it below a line such as: {owner} NAME",
)
BAD_DURATION = Issue(
    "NET-013", Kind.INPUT, "{text} is not a duration in whole milliseconds", "write it like 90s, 1m30s, 1.5s or 250ms"
)

CYCLE = Issue(
    "NET-101",
    Kind.CONFLICT,
    "dependency cycle, in which each waits for the one before: {cycle}",
    "remove one of these dependencies, or start one of the places between them with a token",
)
NEVER_FILLED = Issue(
    "NET-102",
    Kind.CONFLICT,
    "{name} can never start: it needs {wanted} of {place}, which has {tokens} and gets none",
    "let something give to {place}, or start it with more tokens",
)
TOO_SMALL = Issue(
    "NET-103",
    Kind.CONFLICT,
    "{name} can never start: it needs {wanted} of {place}, which never holds more than {most}",
    "raise the capacity of {place}, or ask for less",
)
WAITS_FOR_DEAD = Issue(
    "NET-104",
    Kind.CONFLICT,
    "{name} can never start: it waits for {behind}, which can never start",
    "fix what is reported for those first",
)
MORE_DEAD = Issue(
    "NET-109",
    Kind.CONFLICT,
    "{count} more can never start, the first of them {name}",
    "fix what is reported above first, then check again",
)
UNUSED_PLACE = Issue("NET-105", Kind.CONFLICT, "nothing uses place {place}", "remove it, or connect it")
UNREACHABLE_GOAL = Issue(
    "NET-106",
    Kind.CONFLICT,
    "the goal requires {wanted} of {place}, which never holds that many",
    "let something that can start give to {place}",
)
DEADLOCK = Issue("NET-107", Kind.CONFLICT, "deadlock: {reason}", "{waiting}")
NOT_PROVEN = Issue(
    "NET-108",
    Kind.CONFLICT,
    "it is not proven that the net has no deadlock: the search found none, but stopped after {states} states",
    "search further with --bound {more} or --within 10m, or declare the work as steps, which need no search",
)

TOO_LARGE_TO_CHECK = Issue(
    "NET-110",
    Kind.CONFLICT,
    "it is not proven that the net has no deadlock: {reason}",
    "check a smaller instance of the net, or a part of it",
)

NOT_AN_EXTENSION = Issue(
    "NET-032",
    Kind.CONFLICT,
    "{name} does not extend the net that runs",
    "declare all of the running net first and unchanged, then the new parts",
)

NOT_XML = Issue("NET-020", Kind.INPUT, "this is not XML: {reason}", "give a PNML file, or check how it was made")
HAS_DOCTYPE = Issue(
    "NET-021",
    Kind.INPUT,
    "the file declares a document type, which can define entities",
    "PNML needs none; remove the <!DOCTYPE …>",
)
NOT_PNML = Issue("NET-022", Kind.INPUT, "this PNML cannot be read: {reason}", "{hint}")
WRONG_NET_TYPE = Issue(
    "NET-023",
    Kind.INPUT,
    "the net is of type {type}, and only place/transition nets can be read",
    "export it as a P/T net (http://www.pnml.org/version-2009/grammar/ptnet)",
)

UNKNOWN_NAME = Issue("NET-030", Kind.NOT_FOUND, "the net has no {what} {name}{guess}", "name one that the net declares")
BAD_CHANGE = Issue("NET-031", Kind.INPUT, "{text} is not a change", "write it like {example}")
TOO_LARGE_TO_DRAW = Issue(
    "NET-040",
    Kind.INPUT,
    "the net has {nodes} transitions and places, and a picture of more than {limit} is unreadable",
    "draw a part of it, or write --format dot and open that in a viewer that zooms",
)
