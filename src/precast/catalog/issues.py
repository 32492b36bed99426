"""The errors of catalogs."""

from precast.base.errors import Issue, Kind

NO_SUCH_RESOURCE = Issue(
    "CATALOG-001",
    Kind.INPUT,
    "a relationship names {ref}, which the catalog does not have",
    "declare it, or remove the relationship",
)
CYCLE = Issue(
    "CATALOG-002",
    Kind.INPUT,
    "dependency cycle, in which each resource waits for the one before: {cycle}",
    "remove one of the relationships between them{places}",
)
NOT_A_CATALOG = Issue(
    "CATALOG-003",
    Kind.INPUT,
    "{path} is not a catalog: {reason}",
    "give a catalog in JSON, as `precast compile --json` or `puppet catalog compile --render-as json` prints it",
)
NOT_APPLIED = Issue(
    "CATALOG-004",
    Kind.INPUT,
    "no node can apply resources of type {type}: {refs}",
    "in a run they fail, and resources that require them are skipped; use another type: `precast doc type` shows what can be applied",
)
NO_PUPPET = Issue(
    "CATALOG-006",
    Kind.INPUT,
    "the node has no Puppet, with which it would apply resources of types that Precast does not implement: {types}",
    "install Puppet 7 on the node (package puppet-agent) and have it send its facts, or use other types; "
    "environment.conf can set types_without_puppet = ignore, warning or error",
)
MAYBE_NO_PUPPET = Issue(
    "CATALOG-007",
    Kind.INPUT,
    "the node applies resources of these types only if it has a Puppet, and its facts do not say whether it has one: {types}",
    "in a run without a Puppet they fail, and resources that require them are skipped; "
    "an agent reports its Puppet as the fact precast_bridge",
)
UNKNOWN_PARAMETERS = Issue(
    "CATALOG-008",
    Kind.INPUT,
    "Precast's own {type} has no parameter {name}: {refs}",
    "the module is of a version that Precast does not know; in a run these resources fail; leave the parameter out",
)
RESERVED_REFERENCE = Issue(
    "CATALOG-005",
    Kind.INPUT,
    "{ref} has a value of the type {type}, which only servers write, or one whose type is no text",
    "make the value a Sensitive, which the server replaces by a reference; the key __ptype is reserved",
)
NOBODY_PROMISES = Issue(
    "CATALOG-011",
    Kind.INPUT,
    "{who} needs {key}, which no node of the job promises and which has no value in the environment",
    "add a node whose catalog has promise {{ '{key}': … }}, or give the value: precast future put {key}",
)
PROMISED_TWICE = Issue(
    "CATALOG-012",
    Kind.INPUT,
    "{who} needs the one value of {key}, and {count} promises give it: {promises}",
    "let one of them promise another key, or use futures('{key}'), which gets all of them",
)
TOO_FEW_PROMISES = Issue(
    "CATALOG-013",
    Kind.INPUT,
    "{who} needs at least {wanted} values of {key}, and {count} nodes of the job promise it",
    "lower at_least, or add nodes that promise it",
)
JOINT_CYCLE = Issue(
    "CATALOG-014",
    Kind.INPUT,
    "nodes wait for each other: {cycle}",
    "remove one of these waits, or one of the relationships between them{places}",
)
NEVER_APPLIED = Issue(
    "CATALOG-015",
    Kind.INPUT,
    "{count} resources can never be applied, because they wait for those above: {refs}",
    "put the errors above right",
)
