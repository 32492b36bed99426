"""Queries: one text for both databases, and values that are checked before they are sent."""

import sqlite3

import pytest

from precast.store.engine.query import Query, batch, named_queries


def test_parameters_are_numbered_in_order_of_first_use() -> None:
    query = Query("test.q", "UPDATE t SET b = :second WHERE a = :first")
    assert query.parameters == ("second", "first")
    assert query.sqlite == "UPDATE t SET b = :second WHERE a = :first"
    assert query.postgresql == "UPDATE t SET b = $1 WHERE a = $2"
    assert query(first=1, second=2).positional() == [2, 1]


def test_parameter_used_twice_is_sent_once() -> None:
    query = Query("test.q", "SELECT :now WHERE a < :now AND b = :name AND c > :now")
    assert query.postgresql == "SELECT $1 WHERE a < $1 AND b = $2 AND c > $1"
    assert query(name="n", now=7).positional() == [7, "n"]


def test_parameter_with_the_prefix_of_another_is_distinct() -> None:
    query = Query("test.q", "SELECT :kind, :kind_of, :kind")
    assert query.parameters == ("kind", "kind_of")
    assert query.postgresql == "SELECT $1, $2, $1"


def test_cast_is_not_a_parameter() -> None:
    query = Query("test.q", "SELECT :a", postgresql="SELECT :a::bigint, now()::text, b :: text")
    assert query.parameters == ("a",)
    assert query.postgresql == "SELECT $1::bigint, now()::text, b :: text"


def test_override_with_a_parameter_of_its_own_is_refused() -> None:
    with pytest.raises(KeyError):
        Query("test.q", "SELECT :a", postgresql="SELECT :a, :b")


def test_override_takes_its_numbers_from_the_shared_text() -> None:
    query = Query("test.q", "SELECT :a, :b", postgresql="SELECT setval(:b::text, :a::bigint)")
    assert query.postgresql == "SELECT setval($2::text, $1::bigint)"
    assert query(a=1, b="seq").positional() == [1, "seq"]


@pytest.mark.parametrize("values", [{}, {"a": 1}, {"a": 1, "b": 2, "c": 3}, {"a": 1, "B": 2}])
def test_values_that_are_not_exactly_the_parameters_are_refused(values: dict[str, object]) -> None:
    query = Query("test.q", "SELECT :a, :b")
    with pytest.raises(TypeError, match=r"test\.q takes \['a', 'b'\]"):
        query(**values)
    with pytest.raises(TypeError, match=r"test\.q takes \['a', 'b'\]"):
        query.many([{"a": 1, "b": 2}, values])


def test_many_keeps_the_rows_in_order_and_takes_any_iterable() -> None:
    query = Query("test.q", "INSERT INTO t (a, b) VALUES (:a, :b)")
    statement = query.many({"b": number, "a": -number} for number in range(3))
    assert statement.rows == [(0, 0), (-1, 1), (-2, 2)]
    assert statement == query.many_tuples([(0, 0), (-1, 1), (-2, 2)])


def test_many_without_rows_is_an_empty_statement() -> None:
    assert Query("test.q", "INSERT INTO t (a) VALUES (:a)").many([]).rows == []


@pytest.mark.parametrize("count", [0, 1, 3, 4, 20, 63, 64, 65, 150, 1_000])
def test_multi_row_statements_contain_all_rows_in_order(count: int) -> None:
    query = Query("test.q", "INSERT INTO t (a, b, c) VALUES (:a, coalesce(:b, :a), :a) ON CONFLICT (a) DO NOTHING")
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (a PRIMARY KEY, b, c)")
    statements = list(query.many_tuples([(at, None) for at in range(count)]).multi_row_statements())
    for text, values in statements:
        connection.execute(text, values)
    assert connection.execute("SELECT a, b, c FROM t ORDER BY rowid").fetchall() == [(at,) * 3 for at in range(count)]
    assert len(statements) <= count // 64 + 9


@pytest.mark.parametrize("count", [0, 1, 5, 64, 150])
def test_batch_changes_and_returns_all_of_its_rows(count: int) -> None:
    query = batch("test.q", "a int, b text", "UPDATE t SET b = input.b FROM input WHERE t.a = input.a RETURNING t.a")
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (a PRIMARY KEY, b)")
    connection.executemany("INSERT INTO t VALUES (?, '')", [(at,) for at in range(0, count, 2)])
    rows = [(at, f"new {at}") for at in range(count)]
    returned = [
        row
        for text, values in query.many_tuples(rows).multi_row_statements()
        for row in connection.execute(text, values)
    ]
    assert sorted(returned) == [(at,) for at in range(0, count, 2)]
    assert connection.execute("SELECT a, b FROM t ORDER BY a").fetchall() == rows[::2]
    assert query.columns is not None
    assert query.columns.sql == (
        "WITH input (a, b) AS (SELECT * FROM unnest($1::BIGINT[], $2::TEXT[]) ) "
        "UPDATE t SET b = input.b FROM input WHERE t.a = input.a RETURNING t.a"
    )


def test_words_and_numbers_are_joined_to_one_text_for_a_column() -> None:
    query = batch("test.q", "a word, b bytes, c number", "UPDATE t SET b = input.b FROM input WHERE t.a = input.a")
    assert query.columns is not None
    split = "CAST(string_to_array($1, ' ') AS TEXT[]), $2::BYTEA[], CAST(string_to_array($3, ' ') AS BIGINT[])"
    assert f"unnest({split})" in query.columns.sql
    rows = [("web1", b"x y", 7), ("", b"", -8)]
    assert query.many_tuples(rows).by_column(query.columns) == ["web1 ", (b"x y", b""), "7 -8"]
    with pytest.raises(ValueError, match="blank"):
        query.many_tuples([*rows, ("web 2", b"", 0)]).by_column(query.columns)


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE t SET b = :b WHERE a = :a",
        "INSERT INTO t (a) SELECT :a",
        "INSERT INTO t (a) VALUES (:a) ON CONFLICT (a) DO UPDATE SET b = :b",
        "WITH x AS (SELECT :b) INSERT INTO t (a) VALUES (:a)",
        "SELECT * FROM (VALUES (:a))",
    ],
)
def test_statement_that_does_not_write_one_row_has_no_multi_row_form(sql: str) -> None:
    assert not Query("test.q", sql).multi_row_sql


def test_positional_values_are_numbered_like_their_names() -> None:
    assert Query("test.q", "UPDATE t SET b = :b, at = :now WHERE a = :a OR at < :now").numbered == (
        "UPDATE t SET b = ?1, at = ?2 WHERE a = ?3 OR at < ?2"
    )


def test_named_queries_are_those_of_a_module() -> None:
    first, second = Query("test.first", "SELECT 1"), Query("test.second", "SELECT 2")
    assert named_queries({"FIRST": first, "other": 3, "SECOND": second}) == [first, second]
