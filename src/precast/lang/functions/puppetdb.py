"""puppetdb_query: what the server knows of all nodes, in PuppetDB's query languages."""

from typing import Any

from precast.lang.compiler.serialization import parameter_data
from precast.lang.functions.host import Call
from precast.lang.functions.registry import Function
from precast.lang.issues import puppetdb as issues
from precast.lang.puppetdb.ast_reader import read_ast
from precast.lang.puppetdb.pql import parse_pql
from precast.lang.puppetdb.queries import encode_query
from precast.lang.values.base import from_data

PUPPETDB_QUERY = Function(
    "puppetdb_query",
    "Returns the rows that match a query over nodes, facts and the resources of released catalogs, as an array of hashes. "
    "The query is PQL, or PuppetDB's AST as an array.",
)


@PUPPETDB_QUERY.dispatch("Variant[String[1], Array[Data, 1]] query >> Array", pure=False)
def _puppetdb_query(call: Call, query: Any) -> Any:
    data = parse_pql(query) if isinstance(query, str) else parameter_data(query)
    answer = call.host.inputs.query_fleet(encode_query(read_ast(data)))
    if answer.error:
        raise issues.NO_ANSWER.error(reason=answer.error)
    return from_data(answer.rows)
