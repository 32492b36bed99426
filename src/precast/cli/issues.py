"""What can go wrong on the command line itself."""

from precast.base.errors import Issue, Kind

USAGE = Issue("CLI-001", Kind.INPUT, "{problem}", "{usage}")
INTERNAL = Issue(
    "CLI-002",
    Kind.INTERNAL,
    "internal error: {problem}",
    "this is a bug of Precast; run again with PRECAST_DEBUG=1 and report what it prints",
)
OUTPUT = Issue("CLI-003", Kind.UNAVAILABLE, "cannot write the output: {reason}", "check where standard output goes")
NO_FILE = Issue(
    "CLI-010", Kind.NOT_FOUND, "cannot read {path}: {reason}", "give the path of a file, or - for standard input"
)
NOT_TEXT = Issue(
    "CLI-011", Kind.INPUT, "{path} is no text in UTF-8: {reason}", "convert it to UTF-8, or give another file"
)
TOO_LARGE = Issue("CLI-012", Kind.INPUT, "{path} is larger than {limit_bytes} bytes", "split it, or make it smaller")
NOT_WRITTEN = Issue(
    "CLI-013",
    Kind.UNAVAILABLE,
    "cannot write {path}: {reason}",
    "what was there before is unchanged; check the directory and the space left",
)
NO_SETTING = Issue(
    "CLI-020",
    Kind.INPUT,
    "which {name} to use is not set",
    "export {variable}=…, or write it into {file}",
)
NO_TOKEN = Issue(
    "CLI-028",
    Kind.INPUT,
    "neither a token nor the authority's fingerprint is given",
    "give --token (or export PRECAST_ENROL_TOKEN=…), or --ca-fingerprint to let an operator decide",
)
NO_AUTHORITY_FILE = Issue(
    "CLI-021",
    Kind.INPUT,
    "cannot use {path} as the authority's certificate: {reason}",
    "copy authority/certificate.pem from the server's data directory",
)
NO_SERVER_PARTS = Issue(
    "CLI-025",
    Kind.INPUT,
    "this installation of Precast has no server",
    "install the server parts: pip install 'precast[server]'",
)
NOTHING_TO_VALIDATE = Issue(
    "CLI-031",
    Kind.NOT_FOUND,
    "below {path} there is no manifest (.pp) and no template (.epp)",
    "give files, or a directory that holds some",
)
NOT_DOCUMENTED = Issue(
    "CLI-032", Kind.NOT_FOUND, "there is no {what} {name}{guess}", "the command without a name lists all there are"
)
ONLY_WITH_DEEP = Issue("CLI-036", Kind.INPUT, "{name} only means something with --merge deep", "add --merge deep")
NO_ENVIRONMENT = Issue(
    "CLI-030",
    Kind.NOT_FOUND,
    "{path} is no directory, so it is no environment",
    "give the directory that holds manifests/ and modules/",
)
NOT_DECIDED = Issue(
    "CLI-050",
    Kind.UNAVAILABLE,
    "{node} was not decided upon within {wait}: {state}",
    "it goes on without you: `precast catalog show {node}`; `precast status` says what else waits, and whether anybody compiles",
)
GIVEN_UP = Issue(
    "CLI-051",
    Kind.CONFLICT,
    "the compile for {node} was given up after {attempts} tries: {reason}",
    "it is no error of the language: see `precast catalog errors`; the same command tries again",
)
NOT_STAGED = Issue(
    "CLI-053",
    Kind.UNAVAILABLE,
    "{count} of {nodes} were not decided upon within {wait}, so nothing was released: {names}",
    "the decisions go on; `precast status` says what waits and whether anybody compiles, and without --wait what is staged now is released",
)
NO_BROWSER = Issue(
    "CLI-052", Kind.UNAVAILABLE, "no browser could be opened on {address}", "open the address in one yourself"
)
