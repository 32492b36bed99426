"""PQL and AST: what they mean, that both mean the same, and what is refused."""

from typing import Any

import pytest

from precast.base.errors import PrecastError
from precast.lang.puppetdb.ast_reader import read_ast
from precast.lang.puppetdb.pql import MAX_DEPTH, parse_pql
from precast.lang.puppetdb.queries import Query, decode_query, encode_query

PAIRS: list[tuple[str, list[Any]]] = [
    ("nodes {}", ["from", "nodes"]),
    ("nodes[certname] {}", ["from", "nodes", ["extract", ["certname"]]]),
    ("nodes { certname = 'a' }", ["from", "nodes", ["=", "certname", "a"]]),
    ('nodes { certname != "a" }', ["from", "nodes", ["not", ["=", "certname", "a"]]]),
    ("nodes { certname ~ '^web\\d+' }", ["from", "nodes", ["~", "certname", "^web\\d+"]]),
    ("nodes { certname !~ 'x' }", ["from", "nodes", ["not", ["~", "certname", "x"]]]),
    ("nodes { deactivated is null }", ["from", "nodes", ["null?", "deactivated", True]]),
    ("nodes { deactivated is not null }", ["from", "nodes", ["null?", "deactivated", False]]),
    (
        "facts { name = 'a' and value > 5 or ! value < -1.5 }",
        ["from", "facts", ["or", ["and", ["=", "name", "a"], [">", "value", 5]], ["not", ["<", "value", -1.5]]]],
    ),
    ("facts { (name = 'a' or name = 'b') and value = true }",
     ["from", "facts", ["and", ["or", ["=", "name", "a"], ["=", "name", "b"]], ["=", "value", True]]]),
    ("facts { !(name = 'a') }", ["from", "facts", ["not", ["=", "name", "a"]]]),
    ("facts { name in ['a', 'b'] }", ["from", "facts", ["in", "name", ["array", ["a", "b"]]]]),
    ("facts { [certname, name] in [['a', 'b']] }", ["from", "facts", ["in", ["certname", "name"], ["array", [["a", "b"]]]]]),
    ("inventory { facts.os.family = 'Debian' }", ["from", "inventory", ["=", "facts.os.family", "Debian"]]),
    ("inventory { facts.'my fact'.list[0] >= 1 }", ["from", "inventory", [">=", "facts.'my fact'.list[0]", 1]]),
    ("inventory[certname, facts.os.name] { trusted.extensions.pp_role = 'web' }",
     ["from", "inventory", ["extract", ["certname", "facts.os.name"], ["=", "trusted.extensions.pp_role", "web"]]]),
    ("resources { parameters.ensure = 'x' and tag = 'y' }",
     ["from", "resources", ["and", ["=", ["parameter", "ensure"], "x"], ["=", "tag", "y"]]]),
    ("nodes { facts { name = 'k' } }", ["from", "nodes", ["subquery", "facts", ["=", "name", "k"]]]),
    ("nodes { certname in facts[certname] { name = 'k' } }",
     ["from", "nodes", ["in", "certname", ["from", "facts", ["extract", ["certname"], ["=", "name", "k"]]]]]),
    ("nodes { certname in facts[certname] { name = 'k' } }",
     ["from", "nodes", ["in", "certname", ["extract", "certname", ["select_facts", ["=", "name", "k"]]]]]),
    ("resources[count()] { type = 'Class' }",
     ["from", "resources", ["extract", [["function", "count"]], ["=", "type", "Class"]]]),
    ("facts[value, count()] { name = 'k' group by value order by count desc limit 3 offset 1 }",
     ["from", "facts", ["extract", ["value", ["function", "count"]], ["=", "name", "k"], ["group_by", "value"]],
      ["order_by", [[["function", "count"], "desc"]]], ["limit", 3], ["offset", 1]]),
    ("nodes[certname] { order by certname, facts_environment asc }",
     ["from", "nodes", ["extract", ["certname"]], ["order_by", ["certname", ["facts_environment", "asc"]]]]),
    ("# a comment\nnodes { certname = \"a\\\"b\" }", ["from", "nodes", ["=", "certname", 'a"b']]),
]  # fmt: skip


@pytest.mark.parametrize(("pql", "ast"), PAIRS, ids=[pql for pql, _ in PAIRS])
def test_pql_and_ast_are_the_same_query(pql: str, ast: list[Any]) -> None:
    query = read_ast(parse_pql(pql))
    assert query == read_ast(ast)
    assert decode_query(encode_query(query)) == query
    # A stored query is a key like the one that was read.
    assert hash(decode_query(encode_query(query))) == hash(query)


def test_names_of_pql_that_are_columns_are_no_clauses() -> None:
    """`order`, `limit` and the like begin a clause only if one follows."""
    with pytest.raises(PrecastError, match="the field limit of nodes"):
        read_ast(parse_pql("nodes { limit = 5 }"))


def test_node_active_is_all_nodes() -> None:
    assert read_ast(["from", "nodes", ["=", ["node", "active"], True]]) != Query("nodes")


INVALID: list[tuple[str, str]] = [
    ("", "at character 1 it has the end instead of the name of an entity"),
    ("nodes", "instead of {"),
    ("nodes {", "the end instead of a field"),
    ("nodes { certname }", "instead of an operator"),
    ("nodes { certname = }", "instead of a value"),
    ("nodes { certname = 'a' } x", "instead of the end"),
    ("nodes { certname = 'a }", 'it has "\'" at character 20'),
    ("nodes { certname ~ '(?=a)' }", "only plain groups"),
    ("nodes { certname > 'a' }", "> compares numbers"),
    ("nodes { limit x }", "a count"),
    ("nodes[certname, count()] {}", "certname must be in `group by`"),
    ("facts[value, count()] { group by value order by name }", "sorted by name"),
    ("nodes { certname in facts[certname, name] {} }", "1 fields cannot be in 2 columns"),
    ("nodes { certname in facts {} }", "1 fields cannot be in 0 columns"),
    ("nodes { [certname, catalog_environment] in ['a'] }", "not a value of 2 fields"),
    ("nodes { " + "(" * (MAX_DEPTH + 1) + "certname = 'a'" + ")" * (MAX_DEPTH + 1) + " }", "nested deeper"),
    ("nodes { certname = '" + "a" * 20_000 + "' }", "longer than"),
]


@pytest.mark.parametrize(("pql", "reason"), INVALID, ids=[pql[:40] for pql, _ in INVALID])
def test_invalid_query_is_an_error_that_says_where(pql: str, reason: str) -> None:
    with pytest.raises(PrecastError) as raised:
        read_ast(parse_pql(pql))
    assert raised.value.code == "LANG-782"
    assert reason in raised.value.message


UNSUPPORTED: list[tuple[str, str]] = [
    ("reports {}", "the entity reports"),
    ("nodes { reports { noop = true } }", "the entity reports"),
    ("nodes { report_timestamp > 5 }", "the field report_timestamp of nodes"),
    ("nodes[facts_timestamp] {}", "the field facts_timestamp of nodes"),
    ("resources { file = '/x' }", "the field file of resources"),
    ("facts { path ~> ['a'] }", "instead of a value"),
    ("resources[tag] {}", "the column tag of resources"),
    ("facts { name.x = 1 }", "the field name.x of facts"),
]


@pytest.mark.parametrize(("pql", "what"), UNSUPPORTED, ids=[pql for pql, _ in UNSUPPORTED])
def test_unsupported_part_is_named(pql: str, what: str) -> None:
    with pytest.raises(PrecastError) as raised:
        read_ast(parse_pql(pql))
    assert raised.value.code in ("LANG-782", "LANG-783")
    assert what in raised.value.message


@pytest.mark.parametrize(
    "ast",
    [
        [],
        ["from"],
        ["from", 5],
        ["=", "certname", "a"],
        ["from", "nodes", ["=", "certname"]],
        ["from", "nodes", ["=", "certname", None]],
        ["from", "nodes", ["=", "certname", ["a"]]],
        ["from", "nodes", ["=", ["a", "b"], "c"]],
        ["from", "nodes", 5],
        ["from", "nodes", ["and"]],
        ["from", "nodes", ["=", "certname", "a"], ["=", "certname", "b"]],
        ["from", "nodes", ["limit", -1]],
        ["from", "nodes", ["limit", True]],
        ["from", "nodes", ["order_by", "certname"]],
        ["from", "nodes", ["order_by", [["certname", "up"]]]],
        ["from", "nodes", ["extract", [["function", "median", "certname"]]]],
        ["from", "nodes", ["in", "certname", "a"]],
        ["from", "nodes", ["in", "certname", ["array", [None]]]],
        ["from", "nodes", ["~>", "certname", "a"]],
        ["from", "nodes", ["extract", {"a": 1}]],
        {"from": "nodes"},
    ],
)
def test_malformed_ast_is_an_error_of_the_query(ast: Any) -> None:
    with pytest.raises(PrecastError) as raised:
        read_ast(ast)
    assert raised.value.code in ("LANG-782", "LANG-783")


def test_deep_and_large_asts_are_refused() -> None:
    deep: Any = ["=", "certname", "a"]
    for _ in range(100):
        deep = ["not", deep]
    wide = ["or", *(["=", "certname", str(number)] for number in range(3_000))]
    for condition in (deep, wide):
        with pytest.raises(PrecastError, match="more than"):
            read_ast(["from", "nodes", condition])
