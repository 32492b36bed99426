"""Errors of values, data types, conversions and regular expressions.

They are raised without a place: the evaluator knows the expression and adds its place.
"""

from precast.base.errors import Issue, Kind

NOT_COMPARABLE = Issue(
    "LANG-201",
    Kind.INPUT,
    "Comparison of: {left} {operator} {right}, is not possible. Caused by '{reason}'.",
    "convert both sides to one kind first, as in Integer($x) {operator} 1",
)
NO_OPERATOR_FOR = Issue(
    "LANG-202",
    Kind.INPUT,
    "Operator '{operator}' is not applicable to a {left} when right side is a {right}.",
    "use + and - with timestamps and timespans, and * and / with timespans and numbers",
)
BAD_RANGE = Issue(
    "LANG-203",
    Kind.INPUT,
    'Unparsable version range: "{text}"',
    "write it like '>=1.0.0 <2.0.0', '1.x', '~1.2.3' or '^1.2.3'",
)
DIVISION_BY_ZERO = Issue("LANG-204", Kind.INPUT, "Division by 0", "check the divisor first")
BAD_REGEXP = Issue(
    "LANG-210",
    Kind.INPUT,
    "Invalid regular expression /{pattern}/: {reason}",
    "correct the pattern; group calls, \\G, \\K, \\X and look-behind of variable width are not supported",
)
EMPTY_ALIAS = Issue(
    "LANG-220",
    Kind.INPUT,
    "Type alias '{name}' cannot be resolved to a real type",
    "define the alias as a type other than itself",
)
UNRESOLVED_ALIAS = Issue(
    "LANG-221",
    Kind.INPUT,
    "Type alias '{name}' is used before it is resolved",
    "declare the alias before its use",
)
NOT_PARAMETERIZED = Issue(
    "LANG-230", Kind.INPUT, "Operator '[]' is not applicable to {name}-Type.", "remove the parameters"
)
TYPE_ARGUMENT_COUNT = Issue(
    "LANG-231",
    Kind.INPUT,
    "{type}-Type[] accepts {wanted}. Got {count}",
    "see `precast doc type {type}` for its parameters",
)
BAD_TYPE_ARGUMENT = Issue(
    "LANG-232",
    Kind.INPUT,
    "Error creating type specialization of a {type}-Type, Cannot use {got} where {wanted} is expected",
    "see `precast doc type {type}` for its parameters",
)
ARGUMENT_NOT_A_TYPE = Issue(
    "LANG-233", Kind.INPUT, "{type}-Type[] arguments must be types. Got {got}", "write a type, such as {type}[Integer]"
)
BOUNDS_WANTED = Issue(
    "LANG-234",
    Kind.INPUT,
    "{type}-Type [] requires all arguments to be {wanted} (or default). Got {got}",
    "write the bounds as {type}[1, 10]; `default` means no bound",
)
BOUNDS_REVERSED = Issue(
    "LANG-235",
    Kind.INPUT,
    "'from' must be less or equal to 'to'. Got ({low}, {high})",
    "write the lower bound first",
)
BAD_SIZE = Issue(
    "LANG-236",
    Kind.INPUT,
    "A Type's size constraint arguments must be a single Integer type, or 1-2 integers (or default). Got {got}",
    "write the size as minimum and maximum, such as [1, 5]",
)
BAD_STRUCT_KEY = Issue(
    "LANG-237",
    Kind.INPUT,
    "Illegal Struct member key type. Expected NotUndef, Optional, String, or Enum. Got: {got}",
    "write the key as 'name' or Optional['name']",
)
NO_RESOURCE_TYPE = Issue(
    "LANG-238",
    Kind.INPUT,
    "First argument to Resource[] must be a resource type or a String. Got {got}.",
    "write it like Resource['file', '/tmp']",
)
BAD_TYPE_NAME = Issue(
    "LANG-239",
    Kind.INPUT,
    "Illegal type reference. The given name '{name}' does not conform to the naming rule",
    "begin a type's name with a capital letter and use only letters, digits, _ and ::",
)
BAD_OBJECT_TYPE = Issue("LANG-240", Kind.INPUT, "{reason}", "correct the definition of the Object type")
NO_CLASS_NAME = Issue(
    "LANG-241",
    Kind.INPUT,
    "Illegal Class name in class reference. {got} cannot be used where a String is expected",
    "write the name of the class as a string: Class['apache::mod']",
)
BAD_CLASS_NAME = Issue(
    "LANG-242",
    Kind.INPUT,
    "Illegal name. The given name '{name}' does not conform to the naming rule /^((::)?[a-z_]\\w*)(::[a-z]\\w*)*$/",
    "use only lower-case letters, digits, _ and :: in a class name",
)
RESOURCE_NOT_EVALUATED = Issue(
    "LANG-243",
    Kind.INPUT,
    "Resource not found: {reference}",
    "declare the resource before reading a parameter of it",
)
BAD_URI = Issue("LANG-244", Kind.INPUT, "'{text}' is not a valid URI", "write it like https://example.com/path")
NO_RESOURCE_TYPE_NAMED = Issue(
    "LANG-245",
    Kind.INPUT,
    "Resource type not found: {name}",
    "check the name, and that the environment contains its module",
)
BAD_ZONE = Issue(
    "LANG-250",
    Kind.INPUT,
    "Illegal timezone '{zone}'",
    "write an offset such as +02:00, or a name such as UTC, CET or EST",
)
UNPARSABLE_TIME = Issue(
    "LANG-251",
    Kind.INPUT,
    "Unable to parse '{text}' using any of the formats {formats}",
    "give a format that matches the text",
)
TWO_ZONES = Issue(
    "LANG-252",
    Kind.INPUT,
    "Using a Timezone designator in format specification is mutually exclusive to providing an explicit timezone argument",
    "remove %Z from the format, or omit the timezone",
)
NO_YEAR = Issue("LANG-253", Kind.INPUT, "a Timestamp needs at least a year", "add %Y or %y to the format")
BAD_SPAN_FORMAT = Issue(
    "LANG-254",
    Kind.INPUT,
    "Bad format specifier in '{format}', at position {at}",
    "use only %D, %H, %M, %S, %L, %N and %% for timespans",
)
ONLY_FRACTIONS = Issue(
    "LANG-255",
    Kind.INPUT,
    "Format specifiers %L and %N denotes fractions and must be used together with a specifier of higher magnitude: '{format}'",
    "add %S before the fraction",
)
NO_TYPE_IN_TEXT = Issue("LANG-260", Kind.INPUT, "'{text}' is not a type", "write it like Array[String[1]]")
BAD_FORMAT_TEXT = Issue(
    "LANG-270",
    Kind.INPUT,
    "The format '{format}' is not a valid format on the form '%<flags><width>.<prec><format>'",
    "write it like '%d', '%#x' or '%-10s'",
)
REPEATED_FLAG = Issue(
    "LANG-271", Kind.INPUT, "The same flag can only be used once, got '{format}'", "write each flag once"
)
TWO_DELIMITERS = Issue(
    "LANG-272",
    Kind.INPUT,
    "Only one of the delimiters [ {{ ( < | can be given in the format flags, got '{format}'",
    "choose one delimiter",
)
BAD_FORMAT_MAP = Issue(
    "LANG-273",
    Kind.INPUT,
    "parameter 'string_formats' expects {wanted}, got {got}",
    "write it like {{ Integer => '%x', Array => {{ format => '%(a', separator => ';' }} }}",
)
WRONG_FORMAT = Issue(
    "LANG-274",
    Kind.INPUT,
    "Illegal format '{letter}' specified for value of {kind} type - expected one of the characters '{letters}'",
    "choose a format for {kind}",
)
NOT_UTF8 = Issue("LANG-275", Kind.INPUT, "the Binary is not UTF-8 text", "use the format %B for base64")
DELIMITER_WITHOUT_CONTAINER = Issue(
    "LANG-276", Kind.INPUT, "malformed format string - '{format}'", "use delimiters only for Arrays and Hashes"
)
NO_CHARACTER = Issue("LANG-277", Kind.INPUT, "no character has the code {code}", "use a code from 0 to 1114111")
NOT_CONVERTIBLE = Issue(
    "LANG-280",
    Kind.INPUT,
    "{what} cannot be converted to {kind}",
    "see `precast doc type {kind}` for the arguments of `new`",
)
WRONG_NEW_ARGUMENTS = Issue(
    "LANG-281", Kind.INPUT, "'new' of {kind} {reason}", "see `precast doc type {kind}` for the arguments of `new`"
)
CONVERTED_WRONG = Issue(
    "LANG-282", Kind.INPUT, "{reason}", "convert to the type without parameters, and check the result"
)
STRING_NOT_CONVERTIBLE = Issue(
    "LANG-283", Kind.INPUT, "The string '{text}' cannot be converted to {kind}", "check the text before converting it"
)
BAD_RADIX = Issue(
    "LANG-284", Kind.INPUT, "Illegal radix: {radix}, expected 2, 8, 10, 16, or default", "choose one of these bases"
)
ODD_HASH = Issue(
    "LANG-285", Kind.INPUT, "odd number of arguments for Hash: {count}", "give pairs, or alternating keys and values"
)
BAD_BASE64 = Issue("LANG-286", Kind.INPUT, "invalid base64", "use the format '%s' for text that is not base64")
NO_NEW = Issue(
    "LANG-287", Kind.INPUT, "Creation of new instance of type '{type}' is not supported", "use a type that has `new`"
)
TOO_MANY_ELEMENTS = Issue(
    "LANG-288",
    Kind.INPUT,
    "an Array of {count} elements exceeds the limit of {limit}",
    "iterate over the range itself instead of converting it to an Array",
)
TIME_OUT_OF_RANGE = Issue(
    "LANG-256",
    Kind.INPUT,
    "a Timestamp or Timespan is out of range",
    "use a number of seconds within the range of a calendar",
)
TOO_WIDE = Issue(
    "LANG-257", Kind.INPUT, "the format '{format}' is wider than {limit} characters", "use a smaller width"
)
BAD_TREE_STEP = Issue(
    "LANG-289", Kind.INPUT, "'{step}' is not an index of an Array", "use an integer for a step into an Array"
)
