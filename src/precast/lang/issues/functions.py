"""Errors of calls of functions, and of Ruby's conversions that functions use.

Functions raise these errors without a position: the call site adds its own.
"""

from precast.base.errors import Issue, Kind

WRONG_ARGUMENTS = Issue("LANG-400", Kind.INPUT, "'{name}' {reason}", "see `precast doc function {name}`")
NO_SIGNATURE_FITS = Issue(
    "LANG-401",
    Kind.INPUT,
    "The function '{name}' was called with arguments it does not accept. It expects one of: {signatures}",
    "see `precast doc function {name}`",
)
NOT_A_DECIMAL = Issue(
    "LANG-402",
    Kind.INPUT,
    "abs(): Requires float or integer to work with - was given non decimal string",
    "convert the value first: Numeric($x)",
)
NOT_A_FLOAT = Issue(
    "LANG-403",
    Kind.INPUT,
    "{name}(): cannot convert given value to a floating point value.",
    "convert the value first: Float($x)",
)
NOT_FINITE = Issue(
    "LANG-404", Kind.INPUT, "{value} cannot be rounded to an integer", "check for infinity and NaN before rounding"
)
NONE_TO_CHOOSE = Issue(
    "LANG-405", Kind.INPUT, "{name}(): Wrong number of arguments need at least one", "check with empty() first"
)
NOT_AN_ORDER = Issue(
    "LANG-406",
    Kind.INPUT,
    "The block that compares two values returned a {kind} instead of a number",
    "end the block with compare($a, $b), or return -1, 0 or 1",
)
CASE_OF_NO_STRINGS = Issue(
    "LANG-407",
    Kind.INPUT,
    "compare(): The third argument (ignore case) can only be used when comparing strings",
    "leave the third argument out",
)
DIFFERENT_KINDS = Issue(
    "LANG-408",
    Kind.INPUT,
    "compare(): Can only compare values of the same type (or for Timestamp/Timespan also against Numeric). Got {left} and {right}",
    "convert one of the values first",
)
NO_ORDER = Issue(
    "LANG-409",
    Kind.INPUT,
    "compare(): Non comparable type. Only values of the types Numeric, String, Semver, Timestamp and Timestamp can be compared."
    " Got {left} and {right}",
    "compare parts of the values that have an order",
)
BAD_LIMIT = Issue(
    "LANG-410",
    Kind.INPUT,
    "fqdn_rand(): invalid limit {value}",
    "pass a whole number of at least 1 as the first argument",
)
NOT_A_STRING = Issue("LANG-411", Kind.INPUT, "{name}() expects a String, got {kind}", "convert it first: String($x)")
NO_SUCH_GROUP = Issue(
    "LANG-412", Kind.INPUT, "undefined group name reference: {name}", "use the name of a group in the pattern"
)
EMPTY_REGEXP_TYPE = Issue(
    "LANG-413", Kind.INPUT, "Given Regexp Type has no regular expression", "add the expression: Regexp[/pattern/]"
)
NOT_A_PATTERN = Issue(
    "LANG-414",
    Kind.INPUT,
    "match() expects pattern of T, where T is String, Regexp, Regexp[r], Pattern[p], or Array[T]. Got {kind}",
    "write the pattern as /…/",
)
CANNOT_SORT = Issue(
    "LANG-415", Kind.INPUT, "comparison of {left} with {right} failed", "pass sort a block that compares two elements"
)
NO_COLLECTION = Issue(
    "LANG-416",
    Kind.INPUT,
    "The given data does not contain a Collection at {path}, got '{type}'",
    "use a shorter path, or check the type first",
)
NO_INDEX = Issue(
    "LANG-417",
    Kind.INPUT,
    "The given data requires an Integer index at {path}, got '{type}'",
    "an array is indexed by a number",
)
BAD_PATH = Issue(
    "LANG-418",
    Kind.INPUT,
    "Syntax error in dotted-navigation string: '{path}'",
    "write keys and numbers with dots between them; quote a key that has a dot: a.'b.c'.0",
)
BAD_VARIABLE_NAME = Issue(
    "LANG-419",
    Kind.INPUT,
    "'getvar' The given string does not start with a valid variable name: '{name}'",
    "pass the name without $, then a dot and the path: 'facts.os.family'",
)
EMPTY_TREE_WALK = Issue(
    "LANG-420",
    Kind.INPUT,
    "Options 'include_containers' and 'include_values' cannot both be false",
    "set one of them to true",
)
BAD_CONTAINER_TYPE = Issue(
    "LANG-421",
    Kind.INPUT,
    "Only Array, Hash, and Object types can be used as container types. Got {type}",
    "omit container_type, or use one of these types",
)
FAILED = Issue(
    "LANG-422", Kind.INPUT, "{message}", "the manifest calls fail() here; its message explains the condition"
)
WRONG_TYPE = Issue("LANG-423", Kind.INPUT, "{reason}", "change the value or the asserted type")
NO_ANNOTATIONS = Issue(
    "LANG-424",
    Kind.INPUT,
    "annotations ({type}) are not supported",
    "keep the annotations in a separate hash",
)
NO_CLASS_NAME = Issue(
    "LANG-430", Kind.INPUT, "Cannot use {value} as a class name", "pass a class by its name or as Class['name']"
)
UNSPECIFIC_CLASS = Issue(
    "LANG-431", Kind.INPUT, "Cannot use an unspecific {type}[] Type", "name the class: Class['name']"
)
WRONG_RESOURCES = Issue(
    "LANG-432",
    Kind.INPUT,
    "create_resources(): {place} argument must be {wanted}, got {kind}",
    "write create_resources('type', {{'title' => {{'parameter' => 'value'}}}}, {{'parameter' => 'default'}})",
)
WRONG_RESOURCE_PARAMETERS = Issue(
    "LANG-433",
    Kind.INPUT,
    "create_resources(): the parameters of '{title}' must be a hash, got {kind}",
    "pass an empty hash for a resource without parameters",
)
NO_REFERENCE = Issue(
    "LANG-434",
    Kind.INPUT,
    'No title provided and "{value}" is not a valid resource reference',
    "write it as Type['title']",
)
BAD_TAG = Issue(
    "LANG-435",
    Kind.INPUT,
    "Invalid tag '{tag}'",
    "a tag starts with a letter, digit or _; later characters may also be : . -",
)
DEFINED_ANY = Issue("LANG-436", Kind.INPUT, "The given {kind} type is a reference to all {all}", "name one of them")
OUTSIDE_ENVIRONMENT = Issue(
    "LANG-440",
    Kind.INPUT,
    "{path} is outside of the environment, and a compile reads only the environment",
    "put the file into a module and refer to it as 'module/name'",
)
NO_PATH = Issue("LANG-441", Kind.INPUT, "{name}() expects names of files, got {value}", "pass 'module/name'")
NO_FILE = Issue(
    "LANG-442",
    Kind.INPUT,
    "Could not find any files from {paths}",
    "'module/name' refers to a file in the module's files folder",
)
NO_BINARY_FILE = Issue(
    "LANG-443",
    Kind.INPUT,
    "binary_file(): The given file '{path}' does not exist",
    "'module/name' refers to a file in the module's files folder",
)
NO_TEMPLATE = Issue(
    "LANG-444",
    Kind.INPUT,
    "Could not find template '{name}'",
    "'module/name.epp' refers to a file in the module's templates folder",
)
IMPURE = Issue(
    "LANG-446",
    Kind.INPUT,
    "{name}() is refused: a compile reads only its inputs and runs nothing",
    "compute the value on the node, with a fact or with Deferred",
)
NO_VALUE = Issue(
    "LANG-450",
    Kind.INPUT,
    "Function lookup() did not find a value for {name}",
    "add the key to Hiera, or pass a default: lookup('key', {{default_value => …}})",
)
WRONG_LOOKUP_TYPE = Issue("LANG-451", Kind.INPUT, "{reason}", "change the data or the expected type")
DATA_FUNCTION = Issue(
    "LANG-454",
    Kind.INPUT,
    "'{name}' expects a Puppet::LookupContext, so that only a lookup can call it",
    "name it as data_hash in hiera.yaml and call lookup('key')",
)
IMPORT_DISCONTINUED = Issue(
    "LANG-455",
    Kind.INPUT,
    "Use of 'import' has been discontinued in favor of a manifest directory.",
    "put each class into a module: Puppet finds it by its name",
)
BAD_FORMAT = Issue(
    "LANG-460", Kind.INPUT, "sprintf(): {reason}", "see `precast doc function sprintf` for the syntax of formats"
)
NO_ITERATOR = Issue(
    "LANG-461", Kind.INPUT, "Use of an Iterator is not supported here", "convert it to an array first: Array($x)"
)
TOO_MANY = Issue(
    "LANG-462",
    Kind.INPUT,
    "The iteration would visit more than {most} elements",
    "use a smaller range, or visit only some elements with step",
)
BLOCK_WITHOUT_PARAMETERS = Issue(
    "LANG-463",
    Kind.INPUT,
    "slice(): block must define at least one parameter. Block has 0.",
    "declare one parameter for the slice, or one for each of its elements",
)
NOT_TEXT_INSIDE = Issue(
    "LANG-464",
    Kind.INPUT,
    "{name}() accepts strings and numbers, also inside arrays and hashes, but got a value of kind {kind}",
    "remove the value first, for example with filter, or convert it",
)
TOO_MANY_DIGITS = Issue(
    "LANG-465",
    Kind.INPUT,
    "A number of {count} digits is too long: at most {most} are allowed",
    "check where the text comes from",
)
REFUSED = Issue("LANG-470", Kind.INPUT, "{name}(): {reason}", "see `precast doc function {name}`")
RUBY_FUNCTION = Issue(
    "LANG-471",
    Kind.INPUT,
    "The function '{name}' of module {module} is written in Ruby that cannot run here ({path}): {reason}",
    "write the function in the Puppet language, as functions/NAME.pp of a module; `precast env modules check` lists such functions",
)
OTHER_VERSION = Issue(
    "LANG-474",
    Kind.INPUT,
    "{path} is another version of the function '{name}' than the one that Precast implements, and its Ruby cannot run here",
    "compare the results, or write the function in the Puppet language",
)
NO_BCRYPT = Issue(
    "LANG-472",
    Kind.INPUT,
    "pw_hash(): hashing with {type} takes too long for a compile",
    "hash the password once with `mkpasswd -m bcrypt` and keep the hash in the data, or use sha-512",
)
