"""The errors of the agent. While facts are collected, FACT-010 to FACT-044 are warnings: the other facts are collected all the same."""

from precast.base.errors import Issue, Kind

UNKNOWN_FACT = Issue(
    "FACT-001", Kind.NOT_FOUND, "there is no fact {path}{guess}", "list all facts with `precast facts local`"
)
NO_DIRECTORY = Issue("FACT-002", Kind.NOT_FOUND, "{path} is not a directory", "give {option} a directory that exists")

SLOW = Issue(
    "FACT-010",
    Kind.UNAVAILABLE,
    "{source} gave no facts within {deadline_s:g} s",
    "its facts are missing this time; find out what it waits for",
)
STILL_STUCK = Issue(
    "FACT-011",
    Kind.UNAVAILABLE,
    "{source} has been stuck since an earlier collection",
    "its facts are missing; the usual cause is a mount or a name service that never answers",
)
OUT_OF_TIME = Issue(
    "FACT-012",
    Kind.UNAVAILABLE,
    "{source} was not asked: the {deadline_s:g} s for all facts had passed",
    "look for a slow source among the other warnings",
)
FAILED = Issue("FACT-013", Kind.INTERNAL, "{source} failed: {reason}", "its facts are missing; please report this bug")

UNREADABLE = Issue("FACT-020", Kind.UNAVAILABLE, "cannot read {path}: {reason}", "check its owner and mode")
NOT_TRUSTED = Issue(
    "FACT-021",
    Kind.DENIED,
    "{path} is ignored: {reason}",
    "make it belong to root (or to the user that runs Precast), and writable by nobody else: chmod go-w",
)
LEADS_OUT = Issue(
    "FACT-022", Kind.DENIED, "{path} is ignored: it is a link out of its directory", "copy the file into the directory"
)
UNKNOWN_FORM = Issue(
    "FACT-023",
    Kind.INPUT,
    "{path} is ignored: it is neither .json, .yaml nor .txt, and not executable",
    "give it one of these extensions, or make it executable with chmod +x",
)
BROKEN = Issue("FACT-024", Kind.INPUT, "{path} has no valid facts: {reason}", "write a map from names to values")
BAD_LINE = Issue("FACT-025", Kind.INPUT, "line {line} of {path} is not a fact", "write each line as key=value")
TOO_LARGE = Issue(
    "FACT-026", Kind.INPUT, "{path} is ignored: it has more than {limit_bytes} bytes", "split it, or write less data"
)
RUN_FAILED = Issue("FACT-027", Kind.INPUT, "{path} gave no facts: {reason}", "run it by hand: {path}")
NOT_RUN = Issue(
    "FACT-028",
    Kind.CONFLICT,
    "{path} was not run: it would describe this machine, not the one under {root}",
    "collect without --root, or inside that system",
)
NOT_CONFINED = Issue(
    "FACT-029",
    Kind.UNAVAILABLE,
    "{path} was not run: {reason}",
    "it comes from the environment, and runs as root only under a policy that permits enforcing: `precast node policy set`",
)

NO_VALUE = Issue(
    "FACT-030",
    Kind.INPUT,
    "the fact {name} is left out: {reason}",
    "use null, booleans, finite numbers, text, lists, and maps with text keys",
)
TOO_DEEP = Issue(
    "FACT-031", Kind.INPUT, "the fact {name} is left out: it is nested more than {limit} levels deep", "flatten it"
)
TOO_MANY = Issue(
    "FACT-032",
    Kind.INPUT,
    "the fact {name} is left out: with its {count} values all facts have more than {limit}",
    "write less data, or put it into Hiera, where the catalog is compiled",
)
RUBY_FACT_FAILED = Issue(
    "FACT-040",
    Kind.INPUT,
    "the fact {fact} has no value: {reason} ({place})",
    "the module's code raised this error; the other facts are collected all the same",
)
RUBY_FILE_FAILED = Issue(
    "FACT-041",
    Kind.INPUT,
    "{place}: the rest of this file of facts was not read: {reason}",
    "the module's code raised this error; the facts that the file added before are collected",
)
NEEDS_RUBY = Issue(
    "FACT-042",
    Kind.INPUT,
    "{what} needs more of Ruby than this node runs: {reason} ({place})",
    "`precast env facts` lists such facts before a release; write the fact in Python, as MODULE/precast/facts/NAME.py",
)
RUBY_FACTS_LATE = Issue(
    "FACT-043",
    Kind.UNAVAILABLE,
    "{count} facts of modules were not read in time: {names}",
    "look for slow facts among the other warnings: all of them share {deadline_s:g} s",
)
RUBY_FACT_TOLD = Issue("FACT-044", Kind.INPUT, "{place}: {message}", "the module's code gave this warning")

TOO_BIG = Issue(
    "FACT-033",
    Kind.INPUT,
    "the fact {name} is left out: with its {size_bytes} bytes all facts have more than {limit_bytes}",
    "write less data, or put it into Hiera, where the catalog is compiled",
)
ENROLLED = Issue(
    "AGENT-001",
    Kind.CONFLICT,
    "this machine already has a certificate ({path})",
    "renew it with `precast agent renew`, or enrol the machine again with `--again`: then nothing of its present state is used any more",
)
OTHER_AUTHORITY = Issue(
    "AGENT-002",
    Kind.DENIED,
    "{url} does not have the authority with this fingerprint",
    "check the address; the token or fingerprint is of another server, or the connection is intercepted",
)
NOT_ENROLLED = Issue(
    "AGENT-003", Kind.NOT_FOUND, "this machine has no certificate yet", "enrol it with `precast agent enrol`"
)
CANNOT_KEEP = Issue(
    "AGENT-004", Kind.UNAVAILABLE, "cannot use {path}: {reason}", "check its owner, and the free space on its disk"
)
EXPIRED_TOO_LONG = Issue(
    "AGENT-007",
    Kind.DENIED,
    "the certificate of this machine expired {not_after}, too long ago to be renewed (this machine's clock shows {now})",
    "if the clock is right, create a token with `precast token enrol {name}` and enrol this machine again:"
    " `precast agent enrol --again --name {name} --token-file FILE`",
)
NOT_KEPT = Issue("AGENT-005", Kind.UNAVAILABLE, "{url} did not store the facts", "try again later")
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
    "check its owner, and the free space on its disk",
)
DAMAGED_STORE = Issue(
    "AGENT-011",
    Kind.UNAVAILABLE,
    "the agent's store {path} is damaged",
    "restart the agent: it sets the file aside and creates a new one",
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
    "a record of the kind {kind} has {size_bytes} bytes, more than the {limit_bytes} that can be sent",
    "make it smaller; for facts, `precast facts local` shows which ones are large",
)
RUNS_ALREADY = Issue(
    "AGENT-014",
    Kind.CONFLICT,
    "an agent is already running on {path}",
    "see `precast agent status`; a second agent needs a --root of its own",
)
PLUGIN_DIFFERS = Issue(
    "AGENT-016",
    Kind.DENIED,
    "the plug-in {name} does not have the digest that the catalog names ({digest})",
    "it may have been changed in transit; check the server and the connection",
)
NOT_AS_NAMED = Issue(
    "AGENT-017",
    Kind.DENIED,
    "{what} that the server sent does not match its digest ({digest})",
    "the cached data stays; try again, and check the proxies between this node and its server",
)
POLICY_REFUSED = Issue(
    "AGENT-018",
    Kind.DENIED,
    "the policy is refused: {reason}",
    "the cached policy stays; check it with `precast node policy show`, and set it again if it is not the one you want",
)
RELEASE_REFUSED = Issue(
    "AGENT-019",
    Kind.DENIED,
    "the release pointer is refused: {reason}",
    "nothing of the catalog was used; fetch it again with `precast agent fetch`, or apply a file by `precast apply --catalog FILE`",
)
NETWORK_REFUSED = Issue(
    "AGENT-020",
    Kind.DENIED,
    "the network process of this agent sent {reason}, which is refused",
    "it may have been taken over through what a server sent; nothing of it was used. Look for the cause before you try again",
)
NETWORK_ENDED = Issue(
    "AGENT-021",
    Kind.UNAVAILABLE,
    "the network process of this agent does not answer: {reason}",
    "try again; its messages are in the log of the agent",
)
OTHER_LIFE = Issue(
    "AGENT-023",
    Kind.CONFLICT,
    "this machine was enrolled again, and this process belongs to its earlier enrolment",
    "nothing of the earlier enrolment is used; the daemon continues with the new one by itself, a command can be repeated",
)
NO_ENTRY = Issue(
    "AGENT-024",
    Kind.NOT_FOUND,
    "the catalog {version} of the entry point {entry} is not cached on this node",
    "the task that applies it fetches it first; run the task again with `precast plan retry`",
)
NO_LOG = Issue("AGENT-015", Kind.UNAVAILABLE, "cannot log to {path}: {reason}", "check the directory, or log elsewhere")
NO_COMMAND = Issue(
    "AGENT-030",
    Kind.CONFLICT,
    "the order {order} cannot begin: no server has granted it to this node, or it has begun already",
    "the daemon begins each order when a server has granted it; order another command with `precast exec`",
)
ORDER_REFUSED = Issue(
    "AGENT-031",
    Kind.DENIED,
    "the command {order} is refused: {reason}",
    "it was not run; order another one with `precast exec`",
)
TASK_REFUSED = Issue(
    "AGENT-032",
    Kind.DENIED,
    "the task {order} is refused: {reason}",
    "nothing of it was done; remove the reason, then repeat it with `precast plan retry`",
)
