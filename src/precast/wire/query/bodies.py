"""Bodies of queries about nodes, resources in released catalogs and reports, and of the answer: columns and rows."""

from typing import Any

import msgspec

from precast.wire.nodes.bodies import TargetsBody

MAX_ROWS = 1000


class QueryBody(msgspec.Struct, frozen=True):
    """A query. Without `where` it matches everything; `nodes` restricts resources and reports to those of some nodes.

    With `by` the answer has one row for each combination of values of these fields, with its count. Otherwise `fields` are the columns;
    an empty list means the default ones.
    """

    about: str  # nodes, resources, reports
    where: str = ""
    nodes: TargetsBody | None = None
    fields: list[str] = []
    by: list[str] = []
    limit: int = 500
    after: str = ""  # from the page before


class QueryAnswer(msgspec.Struct, frozen=True):
    """A page of a table. `after` begins the next page, if there may be one: a page can also be short because the time limit was reached."""

    columns: list[str]
    rows: list[list[Any]]
    after: str | None = None
    rests_on_claims: bool = False  # whether the answer depends on facts, which a node could forge
