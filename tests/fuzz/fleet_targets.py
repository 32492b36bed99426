"""The fuzz target for queries of `puppetdb_query`: PQL, and PuppetDB's AST as JSON."""

import json
from typing import Any

from precast.base.errors import PrecastError
from precast.lang.puppetdb.ast_reader import read_ast
from precast.lang.puppetdb.pql import parse_pql
from precast.lang.puppetdb.queries import Query, decode_query, encode_query
from precast.services.query.fleet.conditions import TooCostly, compile_condition
from precast.services.query.fleet.lookups import find_fact_names, find_subqueries, plan_resource_term
from precast.services.query.fleet.results import make_result
from tests.fuzz.target import FuzzTarget

FACTS = {"os": {"family": "Debian", "list": [1, {"a": None}]}, "port": 80, "name": "x"}
ABOUT = {"certname": "a.example", "environment": "production"}
ROWS: dict[str, list[dict[str, Any]]] = {
    "nodes": [
        {"certname": "a.example", "catalog_environment": "p", "facts_environment": "p", "deactivated": None, "expired": None, "fact": FACTS}
    ],
    "facts": [{**ABOUT, "name": name, "value": value} for name, value in FACTS.items()],
    "fact_contents": [{**ABOUT, "name": "os", "path": ["os", "list", 0], "value": 1}],
    "inventory": [{**ABOUT, "facts": FACTS, "trusted": {"extensions": {}}}],
    "resources": [
        {**ABOUT, "type": "File", "title": "/x", "tags": ["file"], "exported": False, "parameters": {"mode": "0644", "n": [1]}}
    ],
}  # fmt: skip


def check_fleet_query(data: bytes) -> None:
    """A query is refused by a declared error, or has a result."""
    text = data.decode("utf-8", "replace")
    try:
        query = read_ast(_parse(text))
    except PrecastError:
        return
    assert decode_query(encode_query(query)) == query
    assert hash(decode_query(encode_query(query))) == hash(query)
    find_fact_names(query)
    plan_resource_term(query.where)
    subresults = {term: frozenset[bytes]() for term in find_subqueries(query.where)}
    try:
        test = compile_condition(query.where, subresults)
        rows = make_result(query, [row for row in ROWS[query.entity] if test(row)])
    except TooCostly:
        return
    assert len(rows) <= _limit(query)
    json.dumps(rows)


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return parse_pql(text)


def _limit(query: Query) -> int:
    return max(1, len(ROWS[query.entity])) if query.limit is None else query.limit


TARGETS = {
    "fleet-queries": FuzzTarget(
        check_fleet_query,
        (
            b"nodes[certname] { facts { name = 'kernel' and value ~ 'Li.*x' } order by certname desc limit 5 offset 1 }",
            b"inventory[certname, facts.os.\"family\"] { facts.os.list[1].a is not null or ! (trusted.extensions.x in ['a', 5]) }",
            b"resources[type, count()] { tag = 'file' and parameters.mode != '0644' group by type order by count }",
            b"facts { [certname, name] in fact_contents[certname, name] { value >= 1.5e3 and path is null } }",
            b'["from", "facts", ["extract", [["function", "avg", "value"]], ["in", "name", ["array", ["a"]]], ["group_by", "value"]]]',
            b'["from", "nodes", ["and", ["=", ["fact", "port"], 80], ["subquery", "resources", ["=", ["parameter", "n"], 1]]]]',
        ),
        ("precast.lang.puppetdb", "precast.services.query.fleet"),
    ),
}
