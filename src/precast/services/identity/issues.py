"""Issues of the certificate authority, enrolment, tokens and sign-in."""

from precast.base.errors import Issue, Kind

NO_AUTHORITY = Issue(
    "CA-001",
    Kind.NOT_FOUND,
    "there is no certificate authority in {place}",
    "create one with `precast server init`",
)
AUTHORITY_EXISTS = Issue(
    "CA-002",
    Kind.CONFLICT,
    "there is already a certificate authority in {place}",
    "it is never overwritten; choose another data directory, or create another admin token with `precast server admin`",
)
AUTHORITY_UNREADABLE = Issue(
    "CA-003",
    Kind.UNAVAILABLE,
    "cannot use {place}: {reason}",
    "run the command as the owner of the directory, and check its permissions",
)
BAD_REQUEST = Issue(
    "CA-004",
    Kind.INPUT,
    "the certificate request is invalid: {reason}",
    "create a new one with `precast agent enrol`",
)
NAME_TAKEN = Issue(
    "CA-005",
    Kind.CONFLICT,
    "{node} already has a certificate",
    "if the machine was reinstalled, run `precast ca clean {node}` first",
)
ENROLMENT_DENIED = Issue(
    "CA-006",
    Kind.DENIED,
    "this token does not enrol {node}",
    "the token may be used up, expired, revoked or for another name; an operator can check with `precast token list`",
)
RENEWAL_DENIED = Issue(
    "CA-007",
    Kind.DENIED,
    "this certificate cannot be renewed",
    "it is revoked, too old, superseded, or from another authority; see `precast ca list`, then clean the node and enrol it again",
)
REQUEST_REJECTED = Issue(
    "CA-008",
    Kind.DENIED,
    "an operator has rejected the request of {node}",
    "ask them why; to make a new request, remove the agent's key.pem so that it generates a new key",
)
TOO_MANY_REQUESTS = Issue(
    "CA-009",
    Kind.UNAVAILABLE,
    "{limit} requests are already waiting for an operator ({scope})",
    "an operator signs or rejects them, see `precast ca list --pending`; or enrol with a token",
)
ISSUED_TOO_OFTEN = Issue(
    "CA-017",
    Kind.LIMITED,
    "{node} has been issued {limit} certificates within a day",
    "wait until tomorrow; a certificate is valid for thirty days, so find out what requests new ones",
)
NO_SUCH_REQUEST = Issue(
    "CA-010",
    Kind.NOT_FOUND,
    "there is no such pending request of {node}",
    "`precast ca list --pending` shows the pending requests",
)
AMBIGUOUS_REQUEST = Issue(
    "CA-011",
    Kind.CONFLICT,
    "{count} requests are pending for the name {node}, with the keys {fingerprints}",
    "compare them with the fingerprint that the machine shows, then give --fingerprint",
)
ROTATION_IN_PROGRESS = Issue(
    "CA-012",
    Kind.CONFLICT,
    "a rotation of the authority is in progress: {state}",
    "see `precast ca rotate --status`; complete it with `precast ca rotate --finish`",
)
STILL_IN_USE = Issue(
    "CA-013",
    Kind.CONFLICT,
    "nodes that still use the old authority: {count} ({nodes})",
    "nodes renew by themselves; `precast ca rotate --status` lists the rest, and --force revokes their certificates",
)
AUTHORITY_DAMAGED = Issue(
    "CA-014",
    Kind.UNAVAILABLE,
    "the authority in {place} is damaged: {reason}",
    "restore the directory from its backup; if no node was ever enrolled, remove it and run `precast server init`",
)
NOT_ROTATING = Issue(
    "CA-015",
    Kind.CONFLICT,
    "only one authority is trusted, so there is no rotation to finish",
    "begin one with `precast ca rotate`",
)
NO_PUPPET_CA = Issue(
    "CA-016",
    Kind.INPUT,
    "cannot import the Puppet authority: {path}: {reason}",
    "give the directory with ca_crt.pem, ca_key.pem, ca_crl.pem and signed/, as `puppet config print cadir` shows it",
)
SIGNER_UNAVAILABLE = Issue(
    "CA-030",
    Kind.UNAVAILABLE,
    "the signer does not answer: {reason}",
    "check that it runs, and the setting `signer` of the server; the request can be repeated",
)
SIGNER_REFUSED = Issue(
    "CA-031",
    Kind.DENIED,
    "the signer refuses this: {reason}",
    "the signer's own log has the whole request; a restored database may have records that another signer sealed",
)
SIGNER_LIMIT = Issue(
    "CA-032",
    Kind.LIMITED,
    "the signer has reached its limit for {verb}, {limit} per minute",
    "try again later; the setting `limits` of the signer sets it",
)
HOST_REFUSED = Issue(
    "CA-033",
    Kind.DENIED,
    "the signer issues no server certificate for {host}",
    "add the name to the setting `names` of the signer, and restart it",
)
NO_SOCKET = Issue("CA-034", Kind.UNAVAILABLE, "the signer cannot listen on {path}: {reason}", "give another --socket")
NO_PASSPHRASE = Issue(
    "CA-035",
    Kind.UNAVAILABLE,
    "{path} is encrypted, and no passphrase is given",
    "set `passphrase_file` or `key_command` of the signer, or run it on a terminal",
)
LOG_BROKEN = Issue(
    "CA-036",
    Kind.CONFLICT,
    "the signer's log is broken at {place}: {reason}",
    "somebody has changed it: compare it with a copy, and look at the lines around it",
)
LOG_UNREADABLE = Issue(
    "CA-041",
    Kind.UNAVAILABLE,
    "cannot read the signer's log {path}: {reason}",
    "name the signer's directory with --data, and run the command as root or as the signer's user",
)
BAD_CHAIN = Issue(
    "CA-039",
    Kind.INPUT,
    "cannot install {path}: {reason}",
    "give the certificate that the root signed for `precast ca request`, followed by those above it",
)
IS_ENCRYPTED = Issue(
    "CA-040",
    Kind.CONFLICT,
    "the keys in {place} are {state}",
    "`precast ca encrypt` and `precast ca decrypt` change that",
)
BAD_PASSPHRASE = Issue(
    "CA-038",
    Kind.UNAVAILABLE,
    "cannot get the passphrase from {source}: {reason}",
    "correct the file or the command; for the signer, `passphrase_file` or `key_command` in its settings",
)
WRONG_PASSPHRASE = Issue(
    "CA-037", Kind.UNAVAILABLE, "the passphrase does not decrypt {path}", "check `passphrase_file` or `key_command`"
)
SITE_EXISTS = Issue(
    "CA-042",
    Kind.CONFLICT,
    "the database {location} belongs to a site that has an authority already, and {nodes} nodes",
    "restore its keys with `precast db restore --only-keys`; if they are lost, --new-authority makes every node enrol again",
)
OTHER_AUTHORITY = Issue(
    "CA-043",
    Kind.CONFLICT,
    "the database {location} belongs to the authority {known}…, and the signer here has {own}…",
    "restore the keys of that site with `precast db restore --only-keys`, or give the server its own database",
)
KEYS_MISSING = Issue(
    "CA-044",
    Kind.NOT_FOUND,
    "the keys of this site are not in {place}: {reason}",
    "name their directory with --data (`data` in signer.toml for a signer of its own), or leave them out with --without-keys",
)
KEYS_UNREADABLE = Issue(
    "CA-045",
    Kind.DENIED,
    "cannot read the keys of this site in {place}: {reason}",
    "run the command as root, or leave them out with --without-keys",
)
KEYS_OF_OTHER_SITE = Issue(
    "CA-046",
    Kind.CONFLICT,
    "the keys in {place} belong to another site than the database {location}",
    "name the directory and the database of one site with --data and --database",
)
KEYS_EXIST = Issue(
    "CA-047",
    Kind.CONFLICT,
    "{place} exists already",
    "keys are never overwritten: move it away, or restore only the database with --without-keys",
)
KEYS_CHANGED = Issue(
    "CA-048", Kind.UNAVAILABLE, "the authority has changed while the backup was taken", "take the backup again"
)
NO_KEYS_IN_BACKUP = Issue(
    "CA-049", Kind.NOT_FOUND, "{path} contains no keys", "use a backup that was taken without --without-keys"
)
KEYS_UNWRITABLE = Issue(
    "CA-050",
    Kind.UNAVAILABLE,
    "cannot write the keys of this site into {place}: {reason}",
    "check the directory and the free space, then restore again (--only-keys if the database is restored already)",
)
BAD_PLACE = Issue(
    "AUTH-008",
    Kind.INPUT,
    "the place in the chain is not a whole number",
    "use the sequence of an entry, or leave it out to begin with the first",
)
BAD_ROLE = Issue("AUTH-001", Kind.INPUT, "there is no role {role}", "it is one of: {roles}")
NO_SUCH_TOKEN = Issue("AUTH-003", Kind.NOT_FOUND, "there is no valid token {id}", "`precast token list` shows them")
UNKNOWN_EXTENSION = Issue("AUTH-004", Kind.INPUT, "there is no certificate extension {name}", "it is one of: {names}")
BAD_SIGN_IN = Issue(
    "AUTH-006",
    Kind.UNAUTHENTICATED,
    "this token is not valid",
    "copy the whole token; it may also be expired or revoked: an admin can check with `precast token list`",
)
NO_READ_ACCESS = Issue(
    "AUTH-007",
    Kind.DENIED,
    "a token with the role {role} has no read access",
    "ask an admin for one with the role viewer",
)
