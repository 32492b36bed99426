"""What can go wrong in the services."""

from precast.base.errors import Issue, Kind

NO_AUTHORITY = Issue(
    "CA-001",
    Kind.NOT_FOUND,
    "there is no certificate authority in {place}",
    "make one with `precast server init`",
)
AUTHORITY_EXISTS = Issue(
    "CA-002",
    Kind.CONFLICT,
    "there is a certificate authority in {place} already",
    "it is never overwritten; choose another data directory, or make another admin token with `precast server admin`",
)
AUTHORITY_UNREADABLE = Issue(
    "CA-003", Kind.UNAVAILABLE, "cannot use {place}: {reason}", "check the file and who may read it"
)
AUTHORITY_DAMAGED = Issue(
    "CA-014",
    Kind.UNAVAILABLE,
    "the authority in {place} is not whole: {reason}",
    "bring the directory back from its backup; if no node was ever enrolled, remove it and run `precast server init`",
)
BAD_REQUEST = Issue(
    "CA-004",
    Kind.INPUT,
    "the certificate request is not usable: {reason}",
    "make it anew with `precast agent enrol`",
)
NAME_TAKEN = Issue(
    "CA-005",
    Kind.CONFLICT,
    "{node} has a certificate already",
    "if the machine was made anew, run `precast ca clean {node}` first",
)
ENROLMENT_DENIED = Issue(
    "CA-006",
    Kind.DENIED,
    "this token does not enrol {node}",
    "the token may be used up, expired, revoked or for another name; `precast token list` tells an operator",
)
RENEWAL_DENIED = Issue(
    "CA-007",
    Kind.DENIED,
    "this certificate cannot be renewed",
    "it is revoked, too old, superseded by a newer one, or not ours; see `precast ca list`, then clean and enrol the node anew",
)
REQUEST_REJECTED = Issue(
    "CA-008",
    Kind.DENIED,
    "an operator has rejected the request of {node}",
    "ask them why; a new key (remove the agent's key.pem) makes a new request",
)
TOO_MANY_REQUESTS = Issue(
    "CA-009",
    Kind.UNAVAILABLE,
    "{limit} requests wait for an operator already ({scope})",
    "an operator decides on them: `precast ca list --pending`; or enrol with a token",
)
NO_SUCH_REQUEST = Issue(
    "CA-010", Kind.NOT_FOUND, "no such request of {node} waits", "`precast ca list --pending` shows those that do"
)
WHICH_REQUEST = Issue(
    "CA-011",
    Kind.CONFLICT,
    "{count} requests wait for the name {node}, with the keys {fingerprints}",
    "compare with what the machine shows, then give --fingerprint",
)
ROTATING = Issue(
    "CA-012",
    Kind.CONFLICT,
    "the authority is being rotated: {state}",
    "see `precast ca rotate --status`; end it with `precast ca rotate --finish`",
)
STILL_IN_USE = Issue(
    "CA-013",
    Kind.CONFLICT,
    "nodes that still use the old authority: {count} ({nodes})",
    "nodes renew by themselves; `precast ca rotate --status` lists the rest, and --force takes theirs back",
)
NOT_ROTATING = Issue(
    "CA-015", Kind.CONFLICT, "there is only one authority, nothing to finish", "begin with `precast ca rotate`"
)
NO_PUPPET_CA = Issue(
    "CA-016",
    Kind.INPUT,
    "cannot take over the Puppet authority: {path}: {reason}",
    "give the directory with ca_crt.pem, ca_key.pem, ca_crl.pem and signed/, as `puppet config print cadir` shows it",
)
NO_SUCH_NODE = Issue("NODE-001", Kind.NOT_FOUND, "there is no node {node}", "`precast node list` shows them")
BAD_ROLE = Issue("AUTH-001", Kind.INPUT, "there is no role {role}", "it is one of: {roles}")
BAD_VALUE = Issue("AUTH-002", Kind.INPUT, "{what} must be between {least} and {most}", "choose another value")
NO_SUCH_TOKEN = Issue(
    "AUTH-003", Kind.NOT_FOUND, "there is no token {id} that is still good", "`precast token list` shows them"
)
UNPRINTABLE = Issue(
    "AUTH-005",
    Kind.INPUT,
    "{what} holds a character that cannot be printed",
    "leave out line ends and control characters",
)
BAD_SIGN_IN = Issue(
    "AUTH-006",
    Kind.UNAUTHENTICATED,
    "this token is not good",
    "copy the whole token; it may also be expired or revoked: `precast token list` tells an admin",
)
NO_LOOKING = Issue(
    "AUTH-007", Kind.DENIED, "a token with the role {role} may not look", "ask an admin for one with the role viewer"
)
UNKNOWN_EXTENSION = Issue("AUTH-004", Kind.INPUT, "there is no certificate extension {name}", "it is one of: {names}")
WRONG_DIGEST = Issue(
    "FACTS-001",
    Kind.INPUT,
    "the facts of {node} are not those of their digest",
    "send both anew; something changed them on the way",
)
NO_FACTS = Issue(
    "FACTS-002", Kind.NOT_FOUND, "{node} has sent no facts", "run `precast agent facts` on it, or check its name"
)
NO_MAPPING = Issue(
    "FACTS-005",
    Kind.INPUT,
    "what {node} sent as facts is no mapping in JSON: {reason}",
    "send `volatile`, and `stable` if it was asked for, as objects, or as zlib streams in `packed_volatile` and `packed`",
)
UNDECIDABLE = Issue(
    "FACTS-006",
    Kind.INTERNAL,
    "nothing can be decided upon new facts of {node}: {reason}",
    "what is stored of it may be damaged: see `precast db check`; `precast db work --requeue facts {node}` tries it again",
)
CLONE = Issue(
    "SESSION-001",
    Kind.CONFLICT,
    "another machine is connected as {node}",
    "a copy of a machine needs an identity of its own: remove its agent's state directory and enrol it under another name",
)
NO_COMMON_VERSION = Issue(
    "SESSION-002",
    Kind.INPUT,
    "the agent speaks versions {offered} of the protocol, this server {known}",
    "upgrade the older of the two",
)
TOO_MANY_SOCKETS = Issue(
    "SESSION-004", Kind.UNAVAILABLE, "{node} has {limit} connections open already", "wait until one of them ends"
)
NO_SOCKET = Issue("SESSION-005", Kind.INPUT, "this address takes websockets only", "it is for `precast agent`")
NEVER_CAME = Issue(
    "SESSION-006",
    Kind.NOT_FOUND,
    "{node} has never been connected",
    "start `precast agent` on it, or check its name: `precast node list`",
)
ALL_AND_SOME = Issue(
    "TARGET-006", Kind.INPUT, "all nodes and some nodes are asked for at once", "give targets, or --all, not both"
)
NOBODY = Issue(
    "TARGET-007",
    Kind.NOT_FOUND,
    "{what}",
    "`precast node list` shows the nodes, `precast node list --deactivated` also those that are no targets any more",
)
TARGETS_TOO_SLOW = Issue(
    "TARGET-008",
    Kind.UNAVAILABLE,
    "finding the nodes took longer than {seconds:.0f} s",
    "ask for fewer facts, or by name and trusted data first",
)
BAD_CLASSIFICATION = Issue(
    "NODE-002",
    Kind.INPUT,
    "{value} cannot be the {what} of a node",
    "use lower-case letters, digits and underscores, beginning with a letter; a role may hold :: between its parts",
)
STILL_ACTIVE = Issue(
    "NODE-003",
    Kind.CONFLICT,
    "{node} is active",
    "run `precast node deactivate {node}` first, or purge it with --force",
)
BAD_DIFFERENCE = Issue(
    "FACTS-003",
    Kind.INPUT,
    "a difference is to another node or since a moment: {problem}",
    "give other=NODE, or since=TIME as 2026-11-15T22:00:00Z",
)
TOO_MUCH_CHANGED = Issue(
    "FACTS-004", Kind.INPUT, "more than {limit} facts of {node} have changed since then", "ask for a later moment"
)
STILL_CONNECTED = Issue(
    "NODE-004",
    Kind.CONFLICT,
    "{node} is still connected to {server}",
    "its connection ends within seconds, or with the lease of a server that died; then purge it again",
)
NOT_DETERMINISTIC = Issue(
    "TRACE-001",
    Kind.INTERNAL,
    "a compile asked for another thing than before, after the same answers (read {position} of chain {chain})",
    "report it with `precast support-bundle`; that compile is tried again, and nobody is served another catalog by it",
)
COMPILE_LATE = Issue(
    "COMPILE-001",
    Kind.UNAVAILABLE,
    "the compile for {node} was not done after {limit_s:g} s",
    "look for a loop in the code, `precast compile` shows it on your own machine; the limit is the server's setting compile_limit",
)
COMPILE_MEMORY = Issue(
    "COMPILE-002",
    Kind.UNAVAILABLE,
    "the compile for {node} needed more than {limit_mb} MB",
    "look for data that grows without end; the limit is the server's setting compile_memory",
)
COMPILE_CRASHED = Issue(
    "COMPILE-003",
    Kind.UNAVAILABLE,
    "the compile worker ended while it compiled for {node}: {reason}",
    "it is tried again; if it stays so, report it with `precast support-bundle`",
)
NO_CATALOG = Issue(
    "RELEASE-001",
    Kind.NOT_FOUND,
    "there is no catalog for {node}: {reason}",
    "see `precast catalog show {node}` and `precast catalog errors`",
)
CONTENT_GONE = Issue(
    "COMPILE-004",
    Kind.UNAVAILABLE,
    "content {digest} is not stored any more",
    "deploy the environment again; what nodes are decided with is then the new version",
)
WINDOWS_NEEDED = Issue(
    "POLICY-002",
    Kind.INPUT,
    "{problem}",
    "--enforce window needs --window 'Sun 02:00 4h', up to {limit} of them; triggered may have some; never and always have none",
)
NO_POLICY = Issue(
    "POLICY-003",
    Kind.NOT_FOUND,
    "no policy is set for {node}: its runs only look",
    "an operator sets one with `precast node policy set`",
)
NO_SUCH_RESOURCE = Issue(
    "ORIGIN-001",
    Kind.NOT_FOUND,
    "the catalog of {node} has no {resource}",
    "write it as the catalog does: File[/etc/motd]",
)
