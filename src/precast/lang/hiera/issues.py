"""Errors of lookups: in hiera.yaml, in data files, in a key, in a merge."""

from precast.base.errors import Issue, Kind

BAD_YAML = Issue(
    "HIERA-001", Kind.INPUT, "invalid YAML: {problem}", "correct the file; the caret shows where the parser stopped"
)
NOT_ALLOWED_YAML = Issue(
    "HIERA-002",
    Kind.INPUT,
    "data must not contain {what}",
    "write the value in quotes: data consists of strings, numbers, booleans, lists and hashes",
)
TOO_MUCH_YAML = Issue("HIERA-003", Kind.INPUT, "{what}: more than {limit}", "split the file")
BAD_JSON = Issue(
    "HIERA-004", Kind.INPUT, "invalid JSON: {problem}", "correct the file; the caret shows where the parser stopped"
)
NO_DATA_HASH = Issue(
    "HIERA-005",
    Kind.INPUT,
    "{path}: file does not contain a valid yaml hash",
    "a data file is one hash: `key: value` line by line",
)
WRONG_DATA = Issue("HIERA-006", Kind.INPUT, "{reason}", "correct the data for that key")
NO_DATA = Issue(
    "HIERA-007",
    Kind.INPUT,
    "the value of '{key}' contains a symbol (a word after a colon), or a key that is neither a string nor a number",
    "write it in quotes",
)
OLD_VERSION = Issue(
    "HIERA-010",
    Kind.INPUT,
    "{path} has Hiera version {version}, which is not supported",
    "convert it to version 5: `version: 5`, a `hierarchy` with a name and a path with its extension for each level, and "
    "`data_hash: yaml_data` instead of a backend; see docs/howto/look-up-data.md",
)
OLD_VERSION_IGNORED = Issue(
    "HIERA-011",
    Kind.INPUT,
    "hiera.yaml version 3 found at {place} was ignored",
    "convert it to version 5; see docs/howto/look-up-data.md",
)
BAD_VERSION = Issue(
    "HIERA-012",
    Kind.INPUT,
    "hiera.yaml has the version {version}, which does not exist",
    "write `version: 5`",
)
BAD_CONFIG = Issue("HIERA-013", Kind.INPUT, "{reason}", "see docs/explanation/hiera.md for the format of hiera.yaml")
NO_FUNCTION_NAMED = Issue(
    "HIERA-014",
    Kind.INPUT,
    "the level '{name}' does not name a function that provides its data",
    "set one of data_hash, lookup_key, data_dig for the level or in `defaults`",
)
MANY_FUNCTIONS = Issue(
    "HIERA-015",
    Kind.INPUT,
    "only one of data_hash, lookup_key, data_dig can be given for {where}",
    "keep one of them",
)
MANY_LOCATIONS = Issue(
    "HIERA-016",
    Kind.INPUT,
    "only one of path, paths, glob, globs, uri, uris, mapped_paths can be given for the level '{name}'",
    "write a separate level for each",
)
RESERVED_OPTION = Issue(
    "HIERA-017",
    Kind.INPUT,
    "the option '{name}' in {where} is reserved",
    "remove it: the level itself sets path and uri",
)
NAME_TWICE = Issue(
    "HIERA-018", Kind.INPUT, "the hierarchy has two levels named '{name}'", "give each level a unique name"
)
DEFAULT_HIERARCHY = Issue(
    "HIERA-019",
    Kind.INPUT,
    "default_hierarchy is only for modules",
    "put the levels at the end of `hierarchy`, or move them to a module's hiera.yaml",
)
HIERA3_BACKEND = Issue(
    "HIERA-020",
    Kind.INPUT,
    "the level '{name}' uses the Hiera 3 backend '{backend}', which needs Ruby",
    "use data_hash: yaml_data or json_data, lookup_key: eyaml_lookup_key, or a function written in Puppet",
)
OUTSIDE = Issue(
    "HIERA-021",
    Kind.INPUT,
    "{path} is outside the {layer}; a compile cannot read it",
    "move the data below the directory of its hiera.yaml and give a relative datadir",
)
SKIPPED = Issue(
    "HIERA-048",
    Kind.INPUT,
    "{path} is outside the {layer} and is skipped: a compile reads nothing there",
    "move the data below the directory of its hiera.yaml and give a relative datadir",
)
NO_DATA_FUNCTION = Issue(
    "HIERA-022",
    Kind.INPUT,
    "{path}: unable to find {kind} function named '{name}'{guess}",
    "use yaml_data, json_data, eyaml_lookup_key, or a function written in Puppet in functions/ of a module",
)
UNSUPPORTED_FUNCTION = Issue(
    "HIERA-023",
    Kind.INPUT,
    "{path}: {name} is not supported",
    "convert the data to YAML or JSON and use yaml_data or json_data",
)
NEEDS_PATH = Issue(
    "HIERA-024",
    Kind.INPUT,
    "'{name}': one of 'path', 'paths' 'glob', 'globs' or 'mapped_paths' must be declared in hiera.yaml when using this function",
    "give the level a path",
)
NOT_A_LIST = Issue(
    "HIERA-025",
    Kind.INPUT,
    "mapped_paths: the variable '{name}' is neither a string nor an array",
    "name a variable whose value is an array",
)
BAD_KEY = Issue(
    "HIERA-030",
    Kind.INPUT,
    "Syntax error in key: '{key}'",
    "write a key as name.name.0, with quotes around a part that contains dots",
)
BAD_INTERPOLATION = Issue(
    "HIERA-031",
    Kind.INPUT,
    "Syntax error in string: {text}",
    "write a name, name.part.0, or lookup('key') between the braces",
)
NO_HASH = Issue(
    "HIERA-032",
    Kind.INPUT,
    "Data Provider type mismatch: Got {kind} when a hash-like object was expected to access value using '{segment}' from key '{key}'",
    "show the value of the key: precast lookup {root}",
)
ALIAS_NOT_WHOLE = Issue(
    "HIERA-033",
    Kind.INPUT,
    "'alias' interpolation is only permitted if the expression is equal to the entire string",
    "use lookup('…') instead",
)
UNKNOWN_METHOD = Issue(
    "HIERA-034",
    Kind.INPUT,
    "Unknown interpolation method '{name}'",
    "use lookup, hiera, alias, scope or literal",
)
METHOD_NOT_ALLOWED = Issue(
    "HIERA-035",
    Kind.INPUT,
    "Interpolation using method syntax is not allowed in this context",
    "interpolate only variables in hiera.yaml",
)
RECURSION = Issue(
    "HIERA-036",
    Kind.INPUT,
    "Recursive lookup detected in [{names}]",
    "one of these keys refers to itself through the others",
)
UNDEFINED_VARIABLE = Issue(
    "HIERA-037",
    Kind.INPUT,
    "Undefined variable '{name}' in a Hiera string",
    "check the name; `precast lookup --compile` runs the manifests first",
)
BAD_MERGE = Issue(
    "HIERA-040", Kind.INPUT, "{reason}", "see docs/explanation/hiera.md for merge strategies and their options"
)
UNKNOWN_STRATEGY = Issue(
    "HIERA-041", Kind.INPUT, "Unknown merge strategy: '{name}'", "use one of first, unique, hash, deep, reverse_deep"
)
NO_STRATEGY = Issue(
    "HIERA-042",
    Kind.INPUT,
    "The hash given as 'merge' must contain the name of a strategy in string form for the key 'strategy'",
    "add `strategy: deep` to the hash, or write only deep instead of a hash",
)
CANNOT_SORT = Issue(
    "HIERA-043",
    Kind.INPUT,
    "sort_merged_arrays: a merged array contains values that cannot be compared with each other",
    "remove sort_merged_arrays",
)
BAD_OPTIONS = Issue(
    "HIERA-044",
    Kind.INPUT,
    "{reason}",
    "lookup_options is a hash of keys, or of patterns starting with ^, with merge and convert_to",
)
BAD_CONVERT_TYPE = Issue(
    "HIERA-045",
    Kind.INPUT,
    "Invalid data type in lookup_options for key '{key}' could not parse '{type}', error: '{reason}",
    "convert_to takes the name of a data type, such as Integer or Sensitive",
)
BAD_CONTEXT_CALL = Issue(
    "HIERA-047",
    Kind.INPUT,
    "Puppet::LookupContext: '{name}' {reason}",
    "see docs/explanation/hiera.md for the methods of a context",
)
UNKNOWN_SCHEME = Issue(
    "HIERA-050",
    Kind.INPUT,
    "the value is encrypted with {scheme}, which is not supported",
    "encrypt it with PKCS7: `eyaml encrypt -n pkcs7`",
)
NO_DECRYPTION_KEY = Issue(
    "HIERA-051",
    Kind.INPUT,
    "the value is encrypted, and there is no private key to decrypt it",
    "name the key pair in hiera.yaml, in options with pkcs7_private_key and pkcs7_public_key; a server has the files in its "
    "directory for the environment: see docs/howto/manage-secrets.md",
)
NOT_DECRYPTED = Issue(
    "HIERA-052",
    Kind.INPUT,
    "the value cannot be decrypted: {reason}",
    "encrypt it again with the public key of this deployment",
)
BAD_KEY_PAIR = Issue(
    "HIERA-053",
    Kind.INPUT,
    "cannot use {path} to decrypt data: {reason}",
    "give both pkcs7_private_key and pkcs7_public_key in hiera.yaml, as files that this program may read",
)
NOT_CONVERTED = Issue(
    "HIERA-046",
    Kind.INPUT,
    "The convert_to lookup_option for key '{key}' raised error: {reason}",
    "change the value, or the type in lookup_options",
)
