"""Errors of evaluation and of making a catalog."""

from precast.base.errors import Issue, Kind

# Expressions: LANG-600 to LANG-659

UNKNOWN_VARIABLE = Issue(
    "LANG-600",
    Kind.INPUT,
    "Unknown variable: '{name}'.",
    "assign it before this line; for a variable of a class write $class::name, and include the class first",
)
NOT_NUMERIC = Issue(
    "LANG-601",
    Kind.INPUT,
    "The value '{value}' cannot be converted to Numeric.",
    "give a number or a numeric string",
)
NUMERIC_COERCION = Issue(
    "LANG-602",
    Kind.INPUT,
    "The string '{before}' was automatically coerced to the numerical value {after}",
    "convert it yourself: Numeric('{before}')",
)
NOT_APPLICABLE = Issue(
    "LANG-603", Kind.INPUT, "Operator '{operator}' is not applicable to {left}.", "check the value's type with type()"
)
NOT_APPLICABLE_WHEN = Issue(
    "LANG-604",
    Kind.INPUT,
    "Operator '{operator}' is not applicable to {left} when right side is {right}.",
    "convert one of the two sides first",
)
BAD_OPERAND = Issue("LANG-605", Kind.INPUT, "{reason}", "check the types of both sides with type()")
DIVISION_BY_ZERO = Issue("LANG-606", Kind.INPUT, "Division by 0", "check the right side before dividing")
INTEGER_OVERFLOW = Issue(
    "LANG-607",
    Kind.INPUT,
    "The expression resulted in a value outside of Puppet Integer max range, got '{value}'",
    "an Integer has 64 bits; use a Float for larger numbers",
)
RESULT_IS_INFINITY = Issue(
    "LANG-608", Kind.INPUT, "The expression resulted in a value outside of what a Float holds", "use smaller numbers"
)
NO_PATTERN = Issue(
    "LANG-609",
    Kind.INPUT,
    "The right side of a match must be a Regexp, a String, a type or a SemVerRange. Got {right}.",
    "write it as /pattern/",
)
MATCH_NEEDS_STRING = Issue(
    "LANG-610",
    Kind.INPUT,
    "Left match operand must result in a String value. Got {left}.",
    'interpolate it: "${{value}}" =~ …',
)
NO_SELECTOR_MATCH = Issue(
    "LANG-611",
    Kind.INPUT,
    "No matching entry for selector parameter with value '{value}'",
    "add an entry for it, or a default",
)
BAD_SLICE = Issue(
    "LANG-612",
    Kind.INPUT,
    "{what} supports [] with {wanted} arguments. Got {count}",
    "write value[index] or value[from, count]",
)
BAD_INDEX = Issue(
    "LANG-613", Kind.INPUT, "An Array[] cannot use {got} where Integer is expected", "give the index as an Integer"
)
BAD_CHARACTER_INDEX = Issue(
    "LANG-614",
    Kind.INPUT,
    "A substring operation does not accept {got} as a character index. Expected an Integer",
    "give the index as an Integer",
)
REASSIGNED = Issue(
    "LANG-615",
    Kind.INPUT,
    "Cannot reassign variable '${name}'",
    "a variable can be assigned only once: use another name",
)
REASSIGNED_BUILT_IN = Issue(
    "LANG-616",
    Kind.INPUT,
    "Cannot reassign built in (or already assigned) variable '${name}'",
    "use another name",
)
RESERVED_VARIABLE = Issue(
    "LANG-617", Kind.INPUT, "Attempt to assign to a reserved variable name: '${name}'", "use another name"
)
NUMERIC_ASSIGNMENT = Issue(
    "LANG-618",
    Kind.INPUT,
    "Illegal attempt to assign to the numeric match result variable '${name}'",
    "use another name: numeric variables contain the captures of a match",
)
CROSS_SCOPE_ASSIGNMENT = Issue(
    "LANG-619",
    Kind.INPUT,
    "Illegal attempt to assign to '${name}'. Cannot assign to variables in other namespaces",
    "assign it in its own class",
)
NOT_ASSIGNABLE = Issue("LANG-620", Kind.INPUT, "Not an assignable reference", "assign to $name or to [$a, $b]")
NO_SUCH_ASSIGNMENT = Issue(
    "LANG-621",
    Kind.INPUT,
    "The operator '{operator}' is no longer supported",
    "a value does not change: assign the result to a new variable",
)
UNEQUAL_ASSIGNMENT = Issue(
    "LANG-622",
    Kind.INPUT,
    "Mismatched number of assignable entries and values, expected {expected}, got {actual}",
    "give as many values as there are variables",
)
NO_ENTRY_TO_ASSIGN = Issue(
    "LANG-623", Kind.INPUT, "No value for required key '{name}' in assignment to variables from hash", "add the key"
)
NO_VARIABLE_TO_ASSIGN = Issue(
    "LANG-624",
    Kind.INPUT,
    "No value for required variable '${name}' in assignment to variables from class reference",
    "assign it in the class",
)
WRONG_ARGUMENTS = Issue("LANG-625", Kind.INPUT, "{what} {reason}", "compare the call with the declaration")
MISSING_ARGUMENT = Issue(
    "LANG-626",
    Kind.INPUT,
    "Parameter ${name} is required but no value was given",
    "pass the argument, or give the parameter a default",
)
WRONG_RESULT = Issue(
    "LANG-627",
    Kind.INPUT,
    "value returned from {what} has wrong type, {reason}",
    "compare the last expression with the declared return type",
)
NOT_A_TYPE = Issue("LANG-628", Kind.INPUT, "expected a data type, got {value}", "write a type such as String[1]")
UNKNOWN_FUNCTION = Issue(
    "LANG-629",
    Kind.INPUT,
    "Unknown function: '{name}'.{guess}",
    "`precast doc function` lists the functions; a module has its own in functions and lib/puppet/functions",
)
NOT_CALLABLE = Issue("LANG-630", Kind.INPUT, "this expression cannot be called", "call a function by its name")
TOO_DEEP = Issue(
    "LANG-631", Kind.INPUT, "the call of {name} is nested too deeply", "check for a function or class that calls itself"
)
UNKNOWN_TYPE_NAME = Issue(
    "LANG-632",
    Kind.INPUT,
    "Resource type not found: {name}{guess}",
    "a type alias belongs in the folder types of its module, a define in the folder manifests",
)
RESERVED_WORD = Issue(
    "LANG-633",
    Kind.INPUT,
    "Use of reserved word: {word}, must be quoted if intended to be a String value",
    "write '{word}'",
)
NOT_SUPPORTED = Issue("LANG-634", Kind.INPUT, "a {what} is not supported", "use a class, define or function instead")
ILLEGAL_JUMP = Issue(
    "LANG-635",
    Kind.INPUT,
    "{name}() from context where this is illegal",
    "call it inside a lambda, a function, a class or a define",
)
NOT_KNOWN_YET = Issue(
    "LANG-636",
    Kind.INPUT,
    "{value} is not known at compile time, but this code needs its value",
    "use it only in strings, templates, arrays, hashes and resource parameters; not in titles, conditions or metaparameters",
)
UNKNOWN_QUESTION = Issue("LANG-637", Kind.INTERNAL, "a compile asked {question}, which has no answer", "report this")

ALIAS_NOT_STATIC = Issue(
    "LANG-638",
    Kind.INPUT,
    "the type alias {name} is not a valid type specification: it depends on a variable or a call",
    "write the type in full: an alias must mean the same everywhere",
)

NOT_UTF8 = Issue("LANG-639", Kind.INPUT, "{path} is not UTF-8: see byte {offset}", "save it as UTF-8")

# Resources: LANG-660 to LANG-719

UNKNOWN_TYPE = Issue(
    "LANG-660",
    Kind.INPUT,
    "Unknown resource type: '{name}'{guess}",
    "`precast doc type` lists the managed types; a define belongs in the folder manifests of its module",
)
NO_TITLE = Issue("LANG-661", Kind.INPUT, "Missing title. The title expression resulted in undef", "give it a title")
NO_TITLE_AT = Issue(
    "LANG-662",
    Kind.INPUT,
    "Missing title at index {index}. The title expression resulted in an undef title",
    "remove the undef from the array",
)
TITLE_NOT_STRING = Issue(
    "LANG-663",
    Kind.INPUT,
    "Illegal title type at index {index}. Expected String, got {got}",
    "interpolate it into a string",
)
EMPTY_TITLE = Issue(
    "LANG-664",
    Kind.INPUT,
    "Empty string title at {index}. Title strings must have a length greater than zero.",
    "give it a title",
)
TITLE_TWICE = Issue(
    "LANG-665",
    Kind.INPUT,
    "The title '{title}' has already been used in this resource expression",
    "give each body its own title",
)
ATTRIBUTE_TWICE = Issue(
    "LANG-666", Kind.INPUT, "The attribute '{name}' has already been set", "set each attribute once"
)
ATTRIBUTE_NAME = Issue(
    "LANG-733",
    Kind.INPUT,
    "The name of an attribute must be a String, got {got}",
    "use the names of attributes as the keys of the hash after * =>",
)
SPLAT_NEEDS_HASH = Issue(
    "LANG-667", Kind.INPUT, "* => expects a Hash, got {got}", "give a hash of attribute names to values"
)
NO_RESOURCE_TYPE = Issue(
    "LANG-668",
    Kind.INPUT,
    "Illegal Resource Type expression, expected result to be a type name, or untitled Resource, got {got}",
    "write a name such as file, or a type such as File",
)
DUPLICATE = Issue(
    "LANG-669",
    Kind.INPUT,
    "Duplicate declaration: {ref} is already declared at {where}; cannot redeclare",
    "declare it once, or use another title",
)
STAGE_ON_RESOURCE = Issue(
    "LANG-670",
    Kind.INPUT,
    "Only classes can set 'stage'; normal resources like {ref} cannot change run stage",
    "put it into a class with that stage",
)
UNKNOWN_STAGE = Issue(
    "LANG-671", Kind.INPUT, "Could not find stage {stage} specified by {ref}", "declare it: stage {{ '{stage}': }}"
)
ALIAS_TAKEN = Issue(
    "LANG-672",
    Kind.INPUT,
    "Cannot alias {ref} to '{alias}'; a resource of that name is already declared at {where}",
    "two resources must not manage the same thing: remove one of them",
)
WRONG_DEFINITION = Issue(
    "LANG-764",
    Kind.INPUT,
    "The code loaded from {path} {problem}",
    "a file below types or functions must define exactly the type or function that its path names",
)
ENVIRONMENT_VARIABLE = Issue(
    "LANG-761",
    Kind.INPUT,
    "environment.conf: ${name} in '{text}' is not known",
    "write the whole path; only $environment and $basemodulepath are available",
)
MANIFEST_OUTSIDE = Issue(
    "LANG-762",
    Kind.INPUT,
    "environment.conf: the manifest {path} is outside the environment",
    "move it into the environment: a compile reads only the environment's own manifests",
)
ENTRY_OUTSIDE = Issue(
    "LANG-767",
    Kind.INPUT,
    "the entry point {path} is not a path inside the environment",
    "write it from the directory of the environment on, without `..`: for example modules/profile/examples/hosts.pp",
)
NO_ENTRY = Issue(
    "LANG-768",
    Kind.INPUT,
    "the environment has no manifest {path}, which was given as an entry point",
    "correct the path, or add the file to the environment",
)
MISSING_MODULE_FACT = Issue(
    "LANG-765",
    Kind.INPUT,
    "the code reads the fact {name}, which {path} adds and the node does not have",
    "{replacement}; environment.conf can set missing_module_facts = ignore, warning or error",
)
BAD_ENVIRONMENT_VALUE = Issue(
    "LANG-766",
    Kind.INPUT,
    "environment.conf: {name} cannot be {value}",
    "write one of {words}",
)
NO_TITLE_PATTERN = Issue(
    "LANG-760",
    Kind.INPUT,
    'No set of title patterns matched the title "{title}" of {ref}',
    "`precast doc type {type} --environment DIR` shows the title patterns of this type",
)
DEFAULT_TWICE = Issue(
    "LANG-673",
    Kind.INPUT,
    "Default already defined for {type} {{ {name} }}; cannot redefine",
    "set each default once in a scope",
)
NOT_A_SUBCLASS = Issue(
    "LANG-674",
    Kind.INPUT,
    "Only subclasses can override parameters of {ref}, declared at {where}",
    "override it in a class that inherits from the class that declares it, or with a collector",
)
ALREADY_SET = Issue(
    "LANG-675",
    Kind.INPUT,
    "Parameter '{name}' is already set on {ref}, declared at {where}; cannot redefine",
    "override it in a class that inherits, or with a collector",
)
OVERRIDE_AFTER_EVALUATION = Issue(
    "LANG-676",
    Kind.INPUT,
    "Attempt to override an already evaluated resource, defined at {where}, with new values",
    "{ref} was already evaluated with its first values: override it earlier",
)
OVERRIDE_OF_NOTHING = Issue(
    "LANG-677", Kind.INPUT, "Could not find resource(s) {ref} for overriding", "declare it, or remove the override"
)
OVERRIDE_NEEDS_RESOURCE = Issue(
    "LANG-678",
    Kind.INPUT,
    "Resource Override can only operate on resources, got: {got}",
    "write a reference such as File['/tmp/x']",
)
NO_REFERENCE = Issue(
    "LANG-679",
    Kind.INPUT,
    'No title provided and "{text}" is not a valid resource reference',
    "write a reference such as File['/tmp/x']",
)
UNKNOWN_RESOURCE = Issue(
    "LANG-680", Kind.INPUT, "Resource not found: {reference}", "declare it before this line is evaluated"
)
UNKNOWN_RESOURCE_PARAMETER = Issue(
    "LANG-681",
    Kind.INPUT,
    "The resource {reference} does not have a parameter called '{name}'",
    "`precast doc type` shows the parameters of a type",
)
NO_PARAMETER_OF_TYPE = Issue(
    "LANG-682",
    Kind.INPUT,
    "no parameter named '{name}' on {ref}{guess}",
    "`precast doc type {type}` lists its parameters",
)
BAD_TAG = Issue("LANG-683", Kind.INPUT, "Invalid tag '{tag}'", "use only letters, digits and _ : . - in a tag")
EXPORT_IGNORED = Issue(
    "LANG-684",
    Kind.INPUT,
    "You cannot collect exported resources without storeconfigs being set; the export is ignored",
    "",
)
COLLECT_IGNORED = Issue(
    "LANG-685",
    Kind.INPUT,
    "You cannot collect exported resources without storeconfigs being set; the collection will be ignored",
    "",
)
QUERY_VALUE = Issue(
    "LANG-780",
    Kind.INPUT,
    "a query over exported resources cannot compare with a value of the type {got}",
    "compare with a string, a number, a Boolean, undef, a reference, or an array of these",
)
EXPORTED_TWICE = Issue(
    "LANG-781",
    Kind.INPUT,
    "A duplicate resource was found while collecting exported resources, with the type and title {ref}: {first} and {second}",
    "give the exported resources titles that contain the name of their node, or narrow the query",
)
CLASSES_NOT_COLLECTED = Issue("LANG-686", Kind.INPUT, "Classes cannot be collected", "include the class")
NO_QUERY = Issue(
    "LANG-687", Kind.INPUT, "a query consists of ==, !=, and, or", "write something like title == 'x' or tag == 'y'"
)
QUERY_OPERAND = Issue(
    "LANG-734",
    Kind.INPUT,
    "A query compares the name of an attribute with a string, number, boolean, variable or reference",
    "assign the value to a variable before the collector, and compare with the variable",
)
NO_RELATION = Issue(
    "LANG-688",
    Kind.INPUT,
    "Illegal relationship operand, can not form a relationship with {got}. A Catalog type is required.",
    "write references or collectors on both sides of the arrow",
)
RELATION_SOURCE_MISSING = Issue(
    "LANG-689",
    Kind.INPUT,
    "Could not find resource '{missing}' for relationship on '{other}'",
    "declare it, or include its class",
)
RELATION_TARGET_MISSING = Issue(
    "LANG-690",
    Kind.INPUT,
    "Could not find resource '{missing}' for relationship from '{other}'",
    "declare it, or include its class",
)
RELATION_PARAMETER_MISSING = Issue(
    "LANG-691",
    Kind.INPUT,
    "Could not find resource '{missing}' in parameter '{name}' of {ref}",
    "declare it, or include its class",
)
NOT_REALIZED = Issue(
    "LANG-692", Kind.INPUT, "Failed to realize virtual resources {refs}", "declare them, or remove the call"
)
ENDLESS = Issue(
    "LANG-693",
    Kind.INPUT,
    "defines declare new defines without end: the compile stopped after {rounds} rounds",
    "check for a define that declares itself with a new title",
)

# Classes, defines, nodes, templates: LANG-720 to LANG-759

UNKNOWN_CLASS = Issue(
    "LANG-720",
    Kind.INPUT,
    "Could not find class ::{name}{guess}",
    "class a::b belongs in manifests/b.pp of module a; is the module on the module path?",
)
UNKNOWN_PARENT = Issue(
    "LANG-721",
    Kind.INPUT,
    "Could not find parent class '{name}' of class {child}",
    "class a::b belongs in manifests/b.pp of module a",
)
REDEFINED = Issue(
    "LANG-722", Kind.INPUT, "{what} '{name}' is already defined at {where}; cannot redefine", "remove one of the two"
)
NODE_REDEFINED = Issue(
    "LANG-723", Kind.INPUT, "Node '{name}' is already defined; cannot redefine", "remove one of the two"
)
NO_NODE_BLOCK = Issue(
    "LANG-724",
    Kind.INPUT,
    "Could not find node statement with name 'default' or '{name}'",
    "add a node block for it, or write node default {{ }}",
)
CORE_TYPE_REDEFINED = Issue(
    "LANG-725", Kind.INPUT, "Attempt to redefine entity '{name}', which is a core type", "use another name"
)
PARAMETER_MISSING = Issue(
    "LANG-726",
    Kind.INPUT,
    "{ref}: expects a value for parameter '{name}'",
    "set it in the declaration or in Hiera, or give the parameter a default",
)
PARAMETER_MISMATCH = Issue("LANG-727", Kind.INPUT, "{ref}: {reason}", "compare the value with the declared type")
DATA_MISMATCH = Issue(
    "LANG-732",
    Kind.INPUT,
    "{ref}: {reason}",
    "the value comes from Hiera: `precast lookup {key} --explain` shows its source; a decrypted value is Sensitive",
)
PARAMETER_UNKNOWN = Issue(
    "LANG-728", Kind.INPUT, "{ref}: has no parameter named '{name}'{guess}", "its parameters are: {known}"
)
TEMPLATE_PARAMETER_MISSING = Issue(
    "LANG-729",
    Kind.INPUT,
    "the template expects a value for parameter '{name}'",
    "pass it in the hash: epp('module/file.epp', {{ '{name}' => … }})",
)
TEMPLATE_PARAMETER_MISMATCH = Issue(
    "LANG-730", Kind.INPUT, "the template: {reason}", "compare the value with the declared type"
)
TEMPLATE_PARAMETER_UNKNOWN = Issue(
    "LANG-731",
    Kind.INPUT,
    "the template has no parameter named '{name}'{guess}",
    "declare it at the top of the template: <%- | $name | -%>",
)
REFUSED_BY_TYPE = Issue(
    "LANG-791",
    Kind.INPUT,
    "{what}: {reason}",
    "the type {type} itself refuses it, as it would on the node: `precast doc type {type}` shows its values",
)
METAPARAMETER_AS_PARAMETER = Issue(
    "LANG-792",
    Kind.INPUT,
    "{name} is a metaparameter; please choose another parameter name in the {definition} definition",
    "every resource has it already: rename the parameter, or give it a default, which its contents then inherit",
)
SECRET_IN_NAME = Issue(
    "LANG-790",
    Kind.INPUT,
    "{what} contains the text of a Sensitive that was unwrapped",
    "names and questions are shown and stored as they are: choose a name without the secret, and pass the secret as the value of a "
    "parameter",
)
