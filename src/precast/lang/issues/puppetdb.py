"""Issues of queries over the fleet: puppetdb_query."""

from precast.base.errors import Issue, Kind

BAD_QUERY = Issue(
    "LANG-782",
    Kind.INPUT,
    "puppetdb_query(): the query is invalid: {reason}",
    "write PQL such as nodes[certname] {{ facts {{ name = 'kernel' and value = 'Linux' }} }}, or PuppetDB's AST as an array",
)
NOT_SUPPORTED = Issue(
    "LANG-783",
    Kind.INPUT,
    "puppetdb_query(): {what} is not supported",
    "supported are: {known}",
)
NO_ANSWER = Issue(
    "LANG-784",
    Kind.INPUT,
    "puppetdb_query(): {reason}",
    "narrow the query by conditions, name the columns that are needed, or use limit",
)
NO_FLEET = Issue(
    "LANG-785",
    Kind.INPUT,
    "puppetdb_query() asks a server, and this compile has none",
    "compile on a server, with `precast catalog compile NODE`",
)
