"""What can go wrong below every other package."""

from precast.base.errors import Issue, Kind

NOT_FINITE = Issue(
    "JSON-001",
    Kind.INPUT,
    "{value} has no form in JSON",
    "use a finite number, or a string",
)
TOO_DEEP = Issue(
    "JSON-002",
    Kind.INPUT,
    "the value is nested more than {limit} levels deep",
    "flatten the data; nothing real needs this depth",
)
NOT_JSON = Issue(
    "JSON-003",
    Kind.INPUT,
    "the value cannot be written as JSON: {reason}",
    "use only null, booleans, numbers, Unicode strings, arrays, and objects with string keys",
)
BAD_URL = Issue(
    "HTTP-001", Kind.INPUT, "this is not the address of a server", "write it as https://HOST or https://HOST:PORT"
)
NO_ANSWER = Issue(
    "HTTP-002",
    Kind.UNAVAILABLE,
    "the server {url} does not answer: {reason}",
    "check the address and that `precast server` runs there",
)
NOT_TRUSTED = Issue(
    "HTTP-003",
    Kind.DENIED,
    "the server {url} is not one we trust: {reason}",
    "check the address and the authority's certificate; somebody may be in between",
)
STRANGE_ANSWER = Issue(
    "HTTP-004",
    Kind.UNAVAILABLE,
    "{url} does not answer like a Precast server (status {status})",
    "check the address, and that both sides are of neighbouring versions",
)
NO_CONFIGURATION = Issue(
    "CONFIG-001",
    Kind.NOT_FOUND,
    "cannot read {path}: {reason}",
    "name another file with --config, or see `precast config show {area}`",
)
OPEN_CONFIGURATION = Issue(
    "CONFIG-002", Kind.DENIED, "others may read {path}, and it holds the setting {name}", "chmod {mode} {path}"
)
BAD_TOML = Issue("CONFIG-003", Kind.INPUT, "this is not TOML: {reason}", "a setting is a line: name = value")
UNKNOWN_SETTING = Issue("CONFIG-004", Kind.INPUT, "there is no setting {name}{guess}", "the settings are: {names}")
BAD_SETTING = Issue("CONFIG-005", Kind.INPUT, "{name}: {value} is not {wanted}", "see docs/reference/configuration.md")
