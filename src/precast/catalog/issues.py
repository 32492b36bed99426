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
RESERVED_REFERENCE = Issue(
    "CATALOG-005",
    Kind.INPUT,
    "{ref} has a value of the type {type}, which only servers write, or one whose type is no text",
    "make the value a Sensitive, which the server replaces by a reference; the key __ptype is reserved",
)
