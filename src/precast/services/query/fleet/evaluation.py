"""Answers a query over the fleet from the database, within bounds of time and memory.

A query that exceeds a bound has an answer too: the error says so. It is part of the trace like any result.
"""

import asyncio
from typing import Final

import msgspec

from precast.lang.puppetdb.answers import EncodedAnswer, FleetAnswer, encode_answer
from precast.lang.puppetdb.queries import InQuery, Query, decode_query
from precast.services.query.fleet.conditions import Row, Test, TooCostly, compile_condition, key_of
from precast.services.query.fleet.lookups import find_subqueries
from precast.services.query.fleet.results import make_result
from precast.services.query.fleet.rows import FleetRows, RowPage
from precast.store.engine.database import Database

TIME_S: Final = 20.0
# The matching rows of a query and its subqueries, as JSON.
MAX_MATCH_BYTES: Final = 32 * 1024 * 1024
MAX_RESULT_ROWS: Final = 20_000
MAX_RESULT_BYTES: Final = 4 * 1024 * 1024


class _Budget:
    """What one query may still use, with its subqueries."""

    def __init__(self, until_s: float) -> None:
        self.until_s = until_s
        self.left_bytes = MAX_MATCH_BYTES


class FleetQueries:
    """Evaluates queries; holds no state between calls."""

    def __init__(self, database: Database, rows: FleetRows) -> None:
        self._database, self._rows = database, rows

    async def evaluate(self, query: str, environment: str) -> EncodedAnswer:
        """The present answer for an environment, for all of them if it is empty. Raises UnavailableError QUERY-001."""
        budget = _Budget(self._database.clock.monotonic_s() + TIME_S)
        try:
            rows = await self._result(decode_query(query), environment, budget)
            if len(rows) > MAX_RESULT_ROWS:
                raise TooCostly(f"the result has {len(rows)} rows, and at most {MAX_RESULT_ROWS} are allowed")
            answer = await asyncio.to_thread(encode_answer, FleetAnswer(rows))
            if len(answer.data) > MAX_RESULT_BYTES:
                raise TooCostly(f"the result has more than {MAX_RESULT_BYTES // 1024 // 1024} MB")
        except TooCostly as error:
            return encode_answer(FleetAnswer(error=str(error)))
        return answer

    async def _result(self, query: Query, environment: str, budget: _Budget) -> list[Row]:
        subresults: dict[InQuery, frozenset[bytes]] = {}
        for term in find_subqueries(query.where):
            if term not in subresults:
                subresults[term] = await self._keys(term.query, environment, budget)
        test = compile_condition(query.where, subresults)
        matches: list[Row] = []
        async for page in self._rows.read(query, environment):
            # In a thread: facts and patterns take time.
            matches += await asyncio.to_thread(_select, page, test, budget)
            if self._database.clock.monotonic_s() > budget.until_s:
                raise TooCostly(f"it took longer than {TIME_S:.0f} s")
        return await asyncio.to_thread(make_result, query, matches)

    async def _keys(self, query: Query, environment: str, budget: _Budget) -> frozenset[bytes]:
        """The values of a subquery's columns."""
        rows = await self._result(query, environment, budget)
        return frozenset(key_of(tuple(row[column.name] for column in query.columns)) for row in rows)


def _select(page: RowPage, test: Test, budget: _Budget) -> list[Row]:
    found = [row for row in page() if test(row)]
    budget.left_bytes -= sum(len(msgspec.json.encode(row)) for row in found)
    if budget.left_bytes < 0:
        raise TooCostly(f"more than {MAX_MATCH_BYTES // 1024 // 1024} MB of rows match")
    return found
