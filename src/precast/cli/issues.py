"""The errors of the command line itself."""

from precast.base.errors import Issue, Kind

USAGE = Issue("CLI-001", Kind.INPUT, "{problem}", "{usage}")
INTERNAL = Issue(
    "CLI-002",
    Kind.INTERNAL,
    "internal error: {problem}",
    "this is a bug in Precast; run the command again with PRECAST_DEBUG=1 and report the output",
)
OUTPUT = Issue(
    "CLI-003", Kind.UNAVAILABLE, "cannot write the output: {reason}", "check where standard output is redirected to"
)
NO_FILE = Issue(
    "CLI-010", Kind.NOT_FOUND, "cannot read {path}: {reason}", "give the path of a file, or - for standard input"
)
NOT_TEXT = Issue(
    "CLI-011", Kind.INPUT, "{path} is not UTF-8 text: {reason}", "convert it to UTF-8, or give another file"
)
TOO_LARGE = Issue("CLI-012", Kind.INPUT, "{path} is larger than {limit_bytes} bytes", "split it, or make it smaller")
NOT_WRITTEN = Issue(
    "CLI-013",
    Kind.UNAVAILABLE,
    "cannot write {path}: {reason}",
    "the old file is unchanged; check the directory and the free space",
)
NO_PLACE = Issue(
    "CLI-059", Kind.NOT_FOUND, "cannot write {path}: {reason}", "name a directory that exists and that you may write to"
)
READABLE_SECRET = Issue(
    "CLI-014",
    Kind.DENIED,
    "other users can read {path}, which contains a secret",
    "run `chmod 600 {path}`, and if somebody may have read it, revoke the token and create another",
)
NO_SETTING = Issue(
    "CLI-020",
    Kind.INPUT,
    "the setting {name} is not set",
    "export {variable}=…, or write it into {file}",
)
NO_TOKEN = Issue(
    "CLI-028",
    Kind.INPUT,
    "neither a token nor the authority's fingerprint is given",
    "give --token-file (or export PRECAST_ENROL_TOKEN=…), or --ca-fingerprint to let an operator decide on the request",
)
NO_AUTHORITY_FILE = Issue(
    "CLI-021",
    Kind.INPUT,
    "cannot use {path} as the authority's certificate: {reason}",
    "copy authority/certificate.pem from the server's data directory",
)
AUDIT_BROKEN = Issue(
    "CLI-022",
    Kind.CONFLICT,
    "the audit log is not intact: chain {chain}, entry {sequence}{entry}: {reason}{more}",
    "compare with an exported copy or a backup, and find out who can write to the database",
)
BAD_HEADS = Issue(
    "CLI-023",
    Kind.INPUT,
    "line {line} of {path} is not a head of the audit log",
    "give a file that `precast audit heads` has written",
)
BAD_POSITION = Issue(
    "CLI-024",
    Kind.INPUT,
    "{path} does not contain the position of an export",
    "give the file that an earlier export has written, or a new name",
)
NO_ENTRY = Issue(
    "CLI-029",
    Kind.NOT_FOUND,
    "the audit log has no entry with the id {id}",
    "`precast audit --json` shows ids; --position FILE continues an earlier export",
)
NO_SERVER_PARTS = Issue(
    "CLI-025",
    Kind.INPUT,
    "this installation of Precast does not include the server",
    "install the server parts: pip install 'precast[server]'",
)
NOTHING_TO_VALIDATE = Issue(
    "CLI-031",
    Kind.NOT_FOUND,
    "there is no manifest (.pp) and no template (.epp) below {path}",
    "give files, or a directory that contains some",
)
NOT_DOCUMENTED = Issue(
    "CLI-032", Kind.NOT_FOUND, "there is no {what} {name}{guess}", "run the command without a name to list all"
)
ONLY_WITH_DEEP = Issue("CLI-036", Kind.INPUT, "{name} works only with --merge deep", "add --merge deep")
NO_NETS = Issue(
    "CLI-037", Kind.NOT_FOUND, "there is no PNML file (*.pnml) below {path}", "give files, or a directory with some"
)
NO_ENVIRONMENT = Issue(
    "CLI-030",
    Kind.NOT_FOUND,
    "{path} is not a directory",
    "give the directory that contains manifests/ and modules/",
)
NOT_DECIDED = Issue(
    "CLI-050",
    Kind.UNAVAILABLE,
    "the decision for {node} was not finished within {wait}: {state}",
    "the server goes on: see `precast catalog show {node}`; `precast status` shows the queue and whether a compile worker is running",
)
GIVEN_UP = Issue(
    "CLI-051",
    Kind.CONFLICT,
    "the compile for {node} was given up after {attempts} attempts: {reason}",
    "this is not an error in the code: see `precast catalog errors`; run the same command to try again",
)
NOT_STAGED = Issue(
    "CLI-053",
    Kind.UNAVAILABLE,
    "the decisions for {count} of {nodes} were not finished within {wait}, so nothing was released: {names}",
    "the decisions go on: `precast status` shows the queue and the workers; without --wait, what is staged now is released",
)
NOT_EXPORTS = Issue(
    "CLI-055",
    Kind.INPUT,
    "{path} does not contain exported resources: {reason}",
    "give a JSON array of objects with node, type, title, parameters and tags",
)
NOT_SECRETS = Issue(
    "CLI-057",
    Kind.INPUT,
    "{path} does not contain the secrets of sources: {reason}",
    "give YAML with sources, below each source its paths, and below each path its fields",
)
NOT_EXPORTED = Issue(
    "CLI-058", Kind.NOT_FOUND, "no node exports {resource}", "`precast exports list {type}` shows what is exported"
)
NO_BROWSER = Issue(
    "CLI-052", Kind.UNAVAILABLE, "no browser could be opened on {address}", "open the address in a browser yourself"
)
