"""A server on PostgreSQL whose role does not own the audit log, as docs/howto/use-postgresql.md says: it adds entries and changes none."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from lab.postgres import USER, PostgresServer
from precast.base.clock import ManualClock
from precast.base.errors import PrecastError
from precast.base.ids import TimeOrderedIds
from precast.store.engine.connect import connect
from precast.store.engine.database import Database
from precast.store.engine.location import PostgresLocation
from precast.store.engine.query import Query, Transaction
from precast.store.identity.audit import AuditLog
from precast.store.schema.schema import Schema
from tests.contract.identity.test_audit_chain import check

PAGE = Path(__file__).resolve().parents[3] / "docs/howto/use-postgresql.md"
ROLES = ("site_server", "precast_audit")


def documented(database: str) -> list[str]:
    """The statements of the page, for another database and for other names of its roles."""
    (text,) = re.findall(r"```sql\n(.*?)```", PAGE.read_text(), re.DOTALL)
    text = text.replace("TO precast;", "TO site_server;")
    text = text.replace("DATABASE precast OWNER TO postgres", f"DATABASE {database} OWNER TO {USER}")
    return [part.strip() for part in text.split(";") if part.strip()]


def run_all(*statements: str) -> Transaction[None]:
    for statement in statements:
        yield Query("t.run", statement)()


@pytest.fixture
async def database(postgres: PostgresServer, clock: ManualClock) -> AsyncIterator[Database]:
    name = postgres.create_database()
    administrator = await connect(PostgresLocation(postgres.url(name)), clock=clock)
    role = PostgresLocation(postgres.url(name).replace(f"{USER}@", "site_server@"))
    await administrator.write(run_all, "CREATE ROLE site_server LOGIN", f"ALTER DATABASE {name} OWNER TO site_server")
    server = await connect(role, clock=clock)
    await Schema(server).expand()
    await administrator.write(run_all, *documented(name))
    await Schema(server).expand()  # as a server does at its next start
    yield server
    await server.close()
    await administrator.write(run_all, *(f"DROP OWNED BY {role} CASCADE" for role in ROLES))
    await administrator.write(run_all, *(f"DROP ROLE {role}" for role in ROLES))
    await administrator.close()
    postgres.drop_database(name)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit SET actor = 'nobody'",
        "DELETE FROM audit",
        "TRUNCATE audit",
        "DROP TABLE audit",
        "DROP SCHEMA public CASCADE",
        "ALTER TABLE audit DISABLE TRIGGER USER",
        "ALTER TABLE audit_chain DISABLE TRIGGER USER",
        "DROP TRIGGER audit_is_append_only ON audit",
        "DELETE FROM audit_chain",
        "UPDATE audit_chain SET sequence = 0",
        "SET session_replication_role = replica",
        "SET ROLE precast_audit",
        "CREATE OR REPLACE FUNCTION audit_is_append_only() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
    ],
)
async def test_role_of_the_server_adds_entries_and_changes_none(database: Database, statement: str) -> None:
    log = AuditLog(database, TimeOrderedIds(database.clock))
    for number in range(3):
        await database.write(log.add, "person:ann", "run.start", f"{number}")
    with pytest.raises(PrecastError):
        await database.write(run_all, statement)
    await database.write(log.add, "node:web1", "certificate.renew", "web1")
    assert [head.sequence for head in await log.read_heads()] == [4]
    assert await check(log) == []
    # Everything else belongs to the server, such as the partitions that it makes.
    await database.write(
        run_all, "CREATE TABLE another PARTITION OF report_page FOR VALUES FROM (1) TO (2)", "DROP TABLE another"
    )
