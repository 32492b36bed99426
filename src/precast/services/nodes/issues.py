"""Issues of nodes, their classification and their policies."""

from precast.base.errors import Issue, Kind

BAD_CLASSIFICATION = Issue(
    "NODE-002",
    Kind.INPUT,
    "{value} cannot be the {what} of a node",
    "use lower-case letters, digits and underscores, beginning with a letter; a role may have :: between its parts",
)
STILL_ACTIVE = Issue(
    "NODE-003",
    Kind.CONFLICT,
    "{node} is active",
    "run `precast node deactivate {node}` first, or purge it with --force",
)
STILL_CONNECTED = Issue(
    "NODE-004",
    Kind.CONFLICT,
    "{node} is still connected to {server}",
    "the connection ends within seconds, or when the lease of a crashed server expires; then purge the node again",
)
CLASSIFICATION_TOO_LARGE = Issue(
    "NODE-005",
    Kind.INPUT,
    "the classes and parameters of a node have {size} bytes, more than {limit}",
    "move data about single nodes into Hiera",
)
BAD_RULE = Issue("NODE-006", Kind.INPUT, "the rule is invalid: {reason}", "see `precast node rules --help`")
NO_RULE = Issue("NODE-008", Kind.NOT_FOUND, "there is no rule {number}", "`precast node rules list` shows the rules")
BAD_WINDOWS = Issue(
    "POLICY-002",
    Kind.INPUT,
    "{problem}",
    "--enforce window needs --window 'Sun 02:00 4h', up to {limit} of them; triggered may have some; never and always have none",
)
NO_POLICY = Issue(
    "POLICY-003",
    Kind.NOT_FOUND,
    "no policy is set for {node}, so its agent runs in no-op mode",
    "an operator sets one with `precast node policy set`",
)
