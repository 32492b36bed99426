"""Errors of secrets that code reads from the sources of its server: SECRET-030 to SECRET-034."""

from precast.base.errors import Issue, Kind

DENIED = Issue(
    "SECRET-030",
    Kind.INPUT,
    "this environment may not read that path of the secret source '{source}', or there is no such source",
    "an administrator names the source, the environment and the path in the server's file of secret sources; for a command on this "
    "machine, --secrets gives the values",
)
NO_SECRET = Issue(
    "SECRET-031",
    Kind.INPUT,
    "the secret source '{source}' has no {what} at {path}",
    "check the path and the field; `precast secrets sources` shows when the source was last asked",
)
BAD_BACKEND = Issue(
    "SECRET-032",
    Kind.INPUT,
    "{path}: {function}: {reason}",
    "see docs/howto/manage-secrets.md for the options of this function",
)
CHOSEN_BY_FACT = Issue(
    "SECRET-033",
    Kind.INPUT,
    "the fact {fact}, which the node itself sends, chooses a secret: {what}",
    "whoever has root on a node can send any fact: use trusted data or a parameter that an operator assigns; "
    "`precast secrets policy` says whether this is refused",
)
CLEAR_TEXT = Issue(
    "SECRET-034",
    Kind.INPUT,
    "the value of '{key}' is made Sensitive, but its text is in a data file of the environment",
    "the text is in the database and in the repository for everybody who may read the code: encrypt it, or read it from a source; see "
    "docs/howto/manage-secrets.md",
)
