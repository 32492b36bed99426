"""The errors of the base package: JSON, HTTPS and settings."""

from precast.base.errors import Issue, Kind

NOT_FINITE = Issue(
    "JSON-001",
    Kind.INPUT,
    "{value} cannot be written as JSON",
    "use a finite number, or a string",
)
TOO_DEEP = Issue(
    "JSON-002",
    Kind.INPUT,
    "the value is nested more than {limit} levels deep",
    "flatten the data",
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
    "the certificate of the server {url} is not trusted: {reason}",
    "check the address and the authority's certificate; the connection may be intercepted",
)
NOT_VALID_NOW = Issue(
    "HTTP-005",
    Kind.UNAVAILABLE,
    "by this machine's clock ({now:%Y-%m-%d %H:%M:%SZ}) the certificate of the server {url} is not valid: {reason}",
    "compare the clocks of both machines, set the one that is wrong, and keep both on NTP",
)
UNEXPECTED_ANSWER = Issue(
    "HTTP-004",
    Kind.UNAVAILABLE,
    "{url} does not answer like a Precast server (status {status})",
    "check the address, and that the versions of both sides are compatible",
)
NO_CONFIGURATION = Issue(
    "CONFIG-001",
    Kind.NOT_FOUND,
    "cannot read {path}: {reason}",
    "name another file with --config, or see `precast config show {area}`",
)
OPEN_CONFIGURATION = Issue(
    "CONFIG-002",
    Kind.DENIED,
    "other users may read {path}, and it has the secret setting {name}",
    "chmod {mode} {path}",
)
WRITABLE_CONFIGURATION = Issue("CONFIG-006", Kind.DENIED, "other users may change {path}", "chmod go-w {path}")
BAD_TOML = Issue("CONFIG-003", Kind.INPUT, "this is not TOML: {reason}", "a setting is a line: name = value")
UNKNOWN_SETTING = Issue("CONFIG-004", Kind.INPUT, "{name} is not a setting{guess}", "the settings are: {names}")
BAD_SETTING = Issue("CONFIG-005", Kind.INPUT, "{name}: {value} is not {wanted}", "see docs/reference/configuration.md")
