"""Bodies of queries: what is asked of nodes, of resources in released catalogs and of reports, and the table that answers."""

from typing import Any

import msgspec

from precast.wire.nodes.bodies import TargetsBody

MAX_ROWS = 1000


class QueryBody(msgspec.Struct, frozen=True):
    """A query. Without `where` everything is meant; `nodes` holds resources and reports to those of some nodes.

    With `by` the answer has one row for each of the values there are of these fields, with how often they occur. Otherwise `fields` are
    the columns; none of them are the usual ones.
    """

    about: str  # nodes, resources, reports
    where: str = ""
    nodes: TargetsBody | None = None
    fields: list[str] = []
    by: list[str] = []
    limit: int = 500
    after: str = ""  # from the page before


class QueryAnswer(msgspec.Struct, frozen=True):
    """A page of a table. `after` begins the next, if there may be one: a page can also be short because time was up."""

    columns: list[str]
    rows: list[list[Any]]
    after: str | None = None
    rests_on_claims: bool = False  # whether facts, which nodes could invent, decided
