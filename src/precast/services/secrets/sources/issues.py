"""Issues of the sources that servers read secrets from."""

from precast.base.errors import Issue, Kind

BAD_SOURCES = Issue(
    "SECRET-020",
    Kind.INPUT,
    "{path} is not a valid file of secret sources: {reason}",
    "correct it as docs/howto/manage-secrets.md shows, then start the server again",
)
SOURCE_FAILED = Issue(
    "SECRET-021",
    Kind.UNAVAILABLE,
    "the secret source '{source}' gives nothing: {reason}",
    "`precast secrets sources` shows when it was last asked; it is asked again by itself, or by `precast secrets refresh {source}`",
)
NO_VALUE_YET = Issue(
    "SECRET-022",
    Kind.UNAVAILABLE,
    "the secret {path} of the source '{source}' is not known yet: {reason}",
    "the source is asked again, and the node compiled when it has answered; `precast secrets sources` shows the state of the source",
)
TOO_MANY_DOCUMENTS = Issue(
    "SECRET-023",
    Kind.UNAVAILABLE,
    "the code of {environment} reads more than {limit} documents of secret sources",
    "put several secrets into one document, or limit the keys that a level of hiera.yaml asks for",
)
NO_SOURCE = Issue(
    "SECRET-024",
    Kind.NOT_FOUND,
    "there is no secret source '{source}'",
    "`precast secrets sources` lists those that the server's configuration names",
)
BAD_POLICY = Issue(
    "SECRET-026",
    Kind.INPUT,
    "{policy} is no policy about facts that choose a secret",
    "it is warn or refuse",
)
