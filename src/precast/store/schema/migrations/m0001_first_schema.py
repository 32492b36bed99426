"""The first schema: the tables of every feature, in an order in which each table follows those it refers to."""

from precast.store.schema.migrations import Migration
from precast.store.schema.migrations.first_schema import (
    actions,
    approvals,
    catalogs,
    clocks,
    code,
    exports,
    facts,
    identity,
    jobs,
    nodes,
    plans,
    query,
    queue,
    reports,
    sessions,
    windows,
)

MIGRATION = Migration(
    number=1,
    name="first schema",
    runs_with=1,
    expand=(
        *queue.TABLES,
        *nodes.TABLES,
        *identity.TABLES,
        *facts.TABLES,
        *sessions.TABLES,
        *code.TABLES,
        *catalogs.TABLES,
        *exports.TABLES,
        *query.TABLES,
        *reports.TABLES,
        *jobs.TABLES,
        *plans.TABLES,
        *approvals.TABLES,
        *actions.TABLES,
        *clocks.TABLES,
        *windows.TABLES,
    ),
    expand_only={
        "SQLite": (*queue.SQLITE, *identity.SQLITE),
        "PostgreSQL": (
            *queue.POSTGRESQL,
            *identity.POSTGRESQL,
            *facts.POSTGRESQL,
            *sessions.POSTGRESQL,
            *code.POSTGRESQL,
            *catalogs.POSTGRESQL,
            *reports.POSTGRESQL,
            *jobs.POSTGRESQL,
        ),
    },
)
