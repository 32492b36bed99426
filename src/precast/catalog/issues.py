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
    "remove one of the relationships between them",
)
NOT_A_CATALOG = Issue(
    "CATALOG-003",
    Kind.INPUT,
    "{path} is not a catalog: {reason}",
    "give a catalog in JSON, as `precast compile --json` or `puppet catalog compile --render-as json` prints it",
)
