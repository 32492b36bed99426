"""What can be wrong with a catalog."""

from precast.base.errors import Issue, Kind

NO_SUCH_RESOURCE = Issue(
    "CATALOG-001",
    Kind.INPUT,
    "a relationship names {ref}, which the catalog does not have",
    "declare it, or take the relationship away",
)
CYCLE = Issue(
    "CATALOG-002",
    Kind.INPUT,
    "these resources wait for each other: {cycle}",
    "take away one of the relationships between them",
)
NOT_A_CATALOG = Issue(
    "CATALOG-003",
    Kind.INPUT,
    "{path} is no catalog: {reason}",
    "give one in JSON, as `precast compile --json` or `puppet catalog compile --render-as json` print it",
)
