"""What can go wrong on a node. While facts are collected these are warnings: the rest is collected all the same."""

from precast.base.errors import Issue, Kind

UNKNOWN_FACT = Issue(
    "FACT-001", Kind.NOT_FOUND, "there is no fact {path}{guess}", "see all that there are: precast facts local"
)
NO_DIRECTORY = Issue("FACT-002", Kind.NOT_FOUND, "{path} is no directory", "give {option} a directory that exists")

SLOW = Issue(
    "FACT-010",
    Kind.UNAVAILABLE,
    "{source} gave no facts within {deadline_s:g} s",
    "its facts are missing this time; find out what it waits for",
)
STILL_STUCK = Issue(
    "FACT-011",
    Kind.UNAVAILABLE,
    "{source} still waits since an earlier collection",
    "its facts are missing; a mount or a name service that never answers is the usual reason",
)
OUT_OF_TIME = Issue(
    "FACT-012",
    Kind.UNAVAILABLE,
    "{source} was not asked: the {deadline_s:g} s for all facts were over",
    "look for a slow source among the other warnings",
)
FAILED = Issue("FACT-013", Kind.INTERNAL, "{source} failed: {reason}", "its facts are missing; please report this")

UNREADABLE = Issue("FACT-020", Kind.UNAVAILABLE, "cannot read {path}: {reason}", "check its owner and mode")
NOT_TRUSTED = Issue(
    "FACT-021",
    Kind.DENIED,
    "{path} is left out: {reason}",
    "let it belong to root (or to who runs Precast), writable by nobody else: chmod o-w",
)
LEADS_OUT = Issue(
    "FACT-022", Kind.DENIED, "{path} is left out: it is a link out of its directory", "copy the file into the directory"
)
UNKNOWN_FORM = Issue(
    "FACT-023",
    Kind.INPUT,
    "{path} is left out: it is neither .json, .yaml nor .txt, and not executable",
    "give it one of these endings, or chmod +x",
)
BROKEN = Issue("FACT-024", Kind.INPUT, "{path} gives no facts: {reason}", "write a map from names to values")
BAD_LINE = Issue("FACT-025", Kind.INPUT, "line {line} of {path} is no fact", "write each line as key=value")
TOO_LARGE = Issue(
    "FACT-026", Kind.INPUT, "{path} is left out: it has more than {limit_bytes} bytes", "split it, or tell less"
)
RUN_FAILED = Issue("FACT-027", Kind.INPUT, "{path} gives no facts: {reason}", "run it by hand: {path}")
NOT_RUN = Issue(
    "FACT-028",
    Kind.CONFLICT,
    "{path} was not run: it would describe this machine, not the one under {root}",
    "collect without --root, or inside that system",
)

NO_VALUE = Issue(
    "FACT-030",
    Kind.INPUT,
    "fact {name} is left out: {reason}",
    "use null, booleans, finite numbers, text, lists, and maps with text keys",
)
TOO_DEEP = Issue(
    "FACT-031", Kind.INPUT, "fact {name} is left out: it is nested more than {limit} levels deep", "flatten it"
)
TOO_MANY = Issue(
    "FACT-032",
    Kind.INPUT,
    "fact {name} is left out: with its {count} values there are more than {limit}",
    "tell less, or put the data where the catalog is made",
)
TOO_BIG = Issue(
    "FACT-033",
    Kind.INPUT,
    "fact {name} is left out: with its {size_bytes} bytes there are more than {limit_bytes}",
    "tell less, or put the data where the catalog is made",
)
ENROLLED = Issue(
    "AGENT-001",
    Kind.CONFLICT,
    "this machine has a certificate already ({path})",
    "renew it with `precast agent renew`, or remove it to begin anew",
)
OTHER_AUTHORITY = Issue(
    "AGENT-002",
    Kind.DENIED,
    "{url} does not have the authority of this fingerprint",
    "check the address; the token or fingerprint is of another server, or somebody is in between",
)
NOT_ENROLLED = Issue(
    "AGENT-003", Kind.NOT_FOUND, "this machine has no certificate yet", "enrol it with `precast agent enrol`"
)
CANNOT_KEEP = Issue(
    "AGENT-004", Kind.UNAVAILABLE, "cannot use {path}: {reason}", "check who owns it, and the space left"
)
NOT_KEPT = Issue("AGENT-005", Kind.UNAVAILABLE, "{url} did not keep the facts", "try again later")
WAITS = Issue(
    "AGENT-006",
    Kind.UNAVAILABLE,
    "the request of {name} waits for an operator; its key has the fingerprint {fingerprint}",
    "an operator compares it and runs `precast ca sign {name} --fingerprint {fingerprint}`; then run this again, or use --wait",
)

NO_STORE = Issue(
    "AGENT-010",
    Kind.UNAVAILABLE,
    "cannot use the agent's store {path}: {reason}",
    "check who owns it, and the space left on its disk",
)
DAMAGED_STORE = Issue(
    "AGENT-011",
    Kind.UNAVAILABLE,
    "the agent's store {path} is damaged",
    "start the agent again: it sets the file aside and begins a new one",
)
NEWER_STORE = Issue(
    "AGENT-012",
    Kind.CONFLICT,
    "the agent's store {path} was made by a newer Precast",
    "install that version again, or move the file away",
)
LARGE_RECORD = Issue(
    "AGENT-013",
    Kind.INPUT,
    "a record of kind {kind} has {size_bytes} bytes, more than the {limit_bytes} that can be sent",
    "tell less; for facts see which are large with `precast facts local`",
)
RUNS_ALREADY = Issue(
    "AGENT-014",
    Kind.CONFLICT,
    "an agent runs already on {path}",
    "look at it with `precast agent status`; a second machine needs a --root of its own",
)
PLUGIN_DIFFERS = Issue(
    "AGENT-016",
    Kind.DENIED,
    "the plug-in {name} that was fetched is not the one that the catalog names ({digest})",
    "somebody may have changed it on its way; look at the server and the connection",
)
NOT_AS_NAMED = Issue(
    "AGENT-017",
    Kind.DENIED,
    "{what} that came is not what was named ({digest})",
    "what was kept before stays; try again, and look at whatever stands between this node and its server",
)
POLICY_REFUSED = Issue(
    "AGENT-018",
    Kind.DENIED,
    "the policy is refused: {reason}",
    "the one that is kept stays; look with `precast node policy show` at your desk, and set it anew if it is not what you want",
)
NO_LOG = Issue("AGENT-015", Kind.UNAVAILABLE, "cannot log to {path}: {reason}", "check the directory, or log elsewhere")
NO_COMMAND = Issue(
    "AGENT-030",
    Kind.CONFLICT,
    "{order} is no command that is to begin now",
    "commands are begun by the daemon, each once; `precast exec` orders them",
)
