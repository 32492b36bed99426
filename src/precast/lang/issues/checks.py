"""Errors in well-formed but invalid programs; the checker finds them before anything is evaluated."""

from precast.base.errors import Issue, Kind

# Places

NOT_TOP_LEVEL = Issue(
    "LANG-100",
    Kind.INPUT,
    "Classes, definitions, and nodes may only appear at toplevel or inside other classes",
    "move the {what} out of the block around it",
)
NOT_ABSOLUTE_TOP_LEVEL = Issue(
    "LANG-101", Kind.INPUT, "{what} may only appear at toplevel", "move it out of the class around it"
)
ILLEGAL_LOCATION = Issue(
    "LANG-102",
    Kind.INPUT,
    "Unacceptable location. The name '{name}' is unacceptable in file '{path}'",
    "the autoloader finds only {namespace} and names below {namespace}:: in this file; move it to the file that has its name",
)
ILLEGAL_TOP_CONSTRUCT = Issue(
    "LANG-103",
    Kind.INPUT,
    "This {what} is unacceptable as a top level construct in this location",
    "a file of a module may contain only definitions: put this into a class",
)
NO_EFFECT = Issue(
    "LANG-104",
    Kind.INPUT,
    "This {what} has no effect. A value was produced and then forgotten (one or more preceding expressions may have "
    "the wrong form)",
    "{advice}",
)
NO_EFFECT_AT_END = Issue(
    "LANG-105",
    Kind.INPUT,
    "This {what} has no effect. {owner} can not end with a value-producing expression without other effect",
    "{advice}",
)
NOT_A_VALUE = Issue(
    "LANG-106",
    Kind.INPUT,
    "Invalid use of expression. {what} does not produce a value",
    "write it as a separate statement",
)
WITHOUT_TITLE = Issue(
    "LANG-107",
    Kind.INPUT,
    "This expression is invalid. Did you try declaring a '{name}' resource without a title?",
    "write {name} {{ 'title': … }}",
)

# Assignments

ILLEGAL_ASSIGNMENT = Issue(
    "LANG-110",
    Kind.INPUT,
    "Illegal attempt to assign to '{what}'. Not an assignable reference",
    "assign only to a variable or an array of variables; to compare, write ==",
)
ASSIGNMENT_BY_INDEX = Issue(
    "LANG-111",
    Kind.INPUT,
    "Illegal attempt to assign via [index/key]. Not an assignable reference",
    "a value never changes: make a new one, as in $new = $old + {{ 'key' => 'value' }}",
)
CROSS_SCOPE_ASSIGNMENT = Issue(
    "LANG-112",
    Kind.INPUT,
    "Illegal attempt to assign to '{name}'. Cannot assign to variables in other namespaces",
    "assign it in its own class, or use another name",
)
NUMERIC_ASSIGNMENT = Issue(
    "LANG-113",
    Kind.INPUT,
    "Illegal attempt to assign to the numeric match result variable '${name}'. Numeric variables are not assignable",
    "use a name that begins with a letter",
)
NO_LONGER_ASSIGNS = Issue(
    "LANG-114",
    Kind.INPUT,
    "The operator '{op}' is no longer supported. See http://links.puppet.com/remove-plus-equals",
    "assign to a new variable: $new = $old {sign} …",
)
ASSIGNMENT_IN_DEFAULT = Issue(
    "LANG-115", Kind.INPUT, "Assignment not allowed here", "remove the assignment from the parameter's default"
)

# Names

ILLEGAL_DEFINITION_NAME = Issue(
    "LANG-120",
    Kind.INPUT,
    "Unacceptable name. The name '{name}' is unacceptable as the name of {what}",
    "{rule}",
)
RESERVED_TYPE_NAME = Issue(
    "LANG-121",
    Kind.INPUT,
    "The name: '{name}' is already defined by Puppet and can not be used as the name of {what}.",
    "choose another name",
)
RESERVED_WORD = Issue(
    "LANG-122",
    Kind.INPUT,
    "Use of reserved word: {word}, must be quoted if intended to be a String value",
    "write '{word}'",
)
ILLEGAL_VARIABLE_NAME = Issue(
    "LANG-123",
    Kind.INPUT,
    "Illegal variable name, The given name '{name}' does not conform to the naming rule "
    "/^((::)?[a-z]\\w*)*((::)?[a-z_]\\w*)$/",
    "begin the name in lower case; letters, digits and _ may follow",
)
ILLEGAL_NUMERIC_VARIABLE = Issue(
    "LANG-124",
    Kind.INPUT,
    "Illegal numeric variable name, The given name '{name}' must be a decimal value if it starts with a digit 0-9",
    "$0, $1, … are the captures of the last match; begin other names with a letter",
)
ILLEGAL_PARAMETER_NAME = Issue(
    "LANG-125",
    Kind.INPUT,
    "Illegal parameter name. The given name '{name}' does not conform to the naming rule /^[a-z_]\\w*$/",
    "a parameter's name is one word that begins in lower case",
)
NUMERIC_PARAMETER = Issue(
    "LANG-126",
    Kind.INPUT,
    "The numeric parameter name '${name}' cannot be used (clashes with numeric match result variables)",
    "use a name that begins with a letter",
)
RESERVED_PARAMETER = Issue(
    "LANG-127",
    Kind.INPUT,
    "The parameter ${name} redefines a built in parameter in the {what}",
    "every class and define already has ${name}; choose another name",
)
DUPLICATE_PARAMETER = Issue(
    "LANG-128",
    Kind.INPUT,
    "The parameter '{name}' is declared more than once in the parameter list",
    "rename or remove one of them",
)
CAPTURES_REST_UNSUPPORTED = Issue(
    "LANG-129",
    Kind.INPUT,
    "Parameter ${name} has 'captures rest' - not supported in {what}",
    "declare an Array instead: Array ${name}",
)
CAPTURES_REST_NOT_LAST = Issue(
    "LANG-130",
    Kind.INPUT,
    "Parameter ${name} is not last, and has 'captures rest'",
    "move it to the end of the parameters",
)

# Nodes

NODE_INHERITANCE = Issue(
    "LANG-135",
    Kind.INPUT,
    "Node inheritance is not supported in Puppet >= 4.0.0. See http://links.puppet.com/puppet-node-inheritance-deprecation",
    "put the shared code into a class and include it in both",
)
HOSTNAME_CHARACTERS = Issue(
    "LANG-136",
    Kind.INPUT,
    "The hostname '{name}' contains illegal characters (only letters, digits, '_', '-', and '.' are allowed)",
    "to match several names use a regular expression: node /^web/ {{ … }}",
)
HOSTNAME_INTERPOLATION = Issue(
    "LANG-137",
    Kind.INPUT,
    "An interpolated expression is not allowed in a hostname of a node",
    "write the name, or use a regular expression: node /^web/ {{ … }}",
)

# Resources and queries

ILLEGAL_APPEND = Issue(
    "LANG-140",
    Kind.INPUT,
    "Illegal +> operation on attribute {name}. This operator can not be used in {what}",
    "+> adds to a value in an override or collector; write => here",
)
NOT_VIRTUALIZABLE = Issue("LANG-141", Kind.INPUT, "{what} are not virtualizable", "write it without {mark}")
UNFOLDED_TWICE = Issue(
    "LANG-142",
    Kind.INPUT,
    "Unfolding of attributes from Hash can only be used once per resource body",
    "add the hashes: * => $a + $b",
)
ILLEGAL_EXPRESSION = Issue(
    "LANG-143", Kind.INPUT, "Illegal expression. {what} is unacceptable as {role} in {owner}", "{advice}"
)
ILLEGAL_QUERY = Issue(
    "LANG-144",
    Kind.INPUT,
    "Illegal query expression. {what} cannot be used in a query",
    "use only attribute == value, attribute != value, and, or, and parentheses in a query",
)

# Conditionals and data

DUPLICATE_DEFAULT = Issue(
    "LANG-150",
    Kind.INPUT,
    "This {what} already has a 'default' entry - this is a duplicate",
    "remove one of them",
)
DUPLICATE_KEY = Issue(
    "LANG-151", Kind.INPUT, "The key '{key}' is declared more than once", "the last one wins; remove the others"
)
INVALID_HEREDOC = Issue(
    "LANG-153",
    Kind.INPUT,
    "Invalid produced text having syntax: '{syntax}'. {problem}",
    "correct the text, or remove :{syntax} from the heredoc's tag",
)
NOT_SUPPORTED = Issue(
    "LANG-154",
    Kind.INPUT,
    "Expressions of type {what} are not supported in this version of Puppet",
    "write an alias as type Name = Type",
)
ILLEGAL_TYPE_MAPPING = Issue(
    "LANG-155",
    Kind.INPUT,
    "Illegal type mapping. Expected {wanted} on the left side, got A Type Mapping",
    "write type Runtime[ruby, 'Class'] = Type, or type Runtime[ruby, [/pattern/, 'text']] = [/pattern/, 'text']",
)
