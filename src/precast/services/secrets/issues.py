"""Issues of secrets and of the keys that seal them."""

from precast.base.errors import Issue, Kind

NO_KEYS = Issue(
    "SECRET-001",
    Kind.UNAVAILABLE,
    "the secrets key of this site is not in {source}, and the database has secrets that only it opens",
    "copy the file from another server of the site, or restore it from its backup; if the key is lost for good, "
    "`precast server secrets-key discard` explains how to go on",
)
KEYS_UNREADABLE = Issue(
    "SECRET-002",
    Kind.UNAVAILABLE,
    "the secrets key cannot be read from {source}: {reason}",
    "check the file, which must have mode 0600 and belong to the server's user, or the command that prints the key",
)
WRONG_KEYS = Issue(
    "SECRET-003",
    Kind.CONFLICT,
    "the secrets key in {source} is not the one of this site: the database needs key {needed}, and there is {found}",
    "copy the file from another server of the site, or restore it from its backup; if the key is lost for good, "
    "`precast server secrets-key discard` explains how to go on",
)
VALUE_DAMAGED = Issue(
    "SECRET-004",
    Kind.INTERNAL,
    "the stored value of secret {ref} of {environment} does not open",
    "deploy {environment} again, which stores its secrets again; if the error returns, check the database with `precast db check`",
)
KEY_EXISTS = Issue(
    "SECRET-005",
    Kind.CONFLICT,
    "{path} has another secrets key than the backup",
    "move it away if it is of no use, or restore without the keys of the backup (--without-keys)",
)
NO_SECRET = Issue(
    "SECRET-006",
    Kind.NOT_FOUND,
    "no secret of {environment}, or more than one, has a reference that begins with {ref}",
    "`precast secrets list {environment}` shows the references; give at least {least} of their digits",
)
KEYS_IN_USE = Issue(
    "SECRET-007",
    Kind.CONFLICT,
    "servers are running that can open the secrets of this site: {servers}",
    "their key is not lost: find its file on one of them; to discard the secrets all the same, stop all servers and wait for a minute",
)
KEYS_FROM_COMMAND = Issue(
    "SECRET-008",
    Kind.INPUT,
    "the secrets key of this server comes from {source}",
    "change it and back it up there; after a change, it must print the new key first, and the old one as long as `precast secrets "
    "status` names it",
)
