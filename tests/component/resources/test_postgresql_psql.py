"""postgresql_psql with a real server: failures, secrets, who runs psql. The differential test compares the rest with the module."""

import os
import pwd
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.postgres import USER, PostgresServer
from precast.agent.applying.machine import Machine
from precast.base.clock import SystemClock
from precast.base.errors import InputError, UnavailableError
from precast.resources.contract import DesiredResource
from precast.resources.postgresql_psql import PostgresqlPsql

ME = pwd.getpwuid(os.geteuid()).pw_name


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with PostgresServer(is_in_memory=True) as running:
        yield running


@pytest.fixture
def node(tmp_path: Path) -> Machine:
    return Machine("", str(tmp_path), SystemClock())


def psql(node: Machine, server: PostgresServer, secrets: Any = (), **given: Any) -> PostgresqlPsql:
    parameters = {
        "psql_path": f"{server._programs}/psql",
        "psql_user": ME,
        "psql_group": str(os.getegid()),
        "connect_settings": {"PGHOST": str(server.directory), "PGUSER": USER, "PGDATABASE": "postgres"},
        **given,
    }
    return PostgresqlPsql(DesiredResource("postgresql_psql", "x", parameters, frozenset(secrets)), node)


def is_due(handler: PostgresqlPsql) -> bool:
    return bool(handler.compare(handler.read()))


def test_command_that_fails_says_what_psql_says(node: Machine, server: PostgresServer) -> None:
    handler = psql(node, server, command="SELECT 1/0")
    (change,) = handler.compare(handler.read())
    with pytest.raises(UnavailableError, match="psql returned 1: 'ERROR: division by zero'"):
        handler.apply(change)


@pytest.mark.parametrize("name", ["onlyif", "unless"])
@pytest.mark.parametrize("is_late", [True, False])
def test_guard_that_fails_fails_the_resource(node: Machine, server: PostgresServer, name: str, is_late: bool) -> None:
    handler = psql(node, server, command="SELECT 1", refreshonly=is_late, **{name: "nonsense"})
    with pytest.raises(UnavailableError, match=f"Error evaluating '{name}' clause, returned 1: 'ERROR: syntax"):
        handler.read()


@pytest.mark.parametrize(
    ("guards", "expected"),
    [
        ({}, True),
        ({"unless": "SELECT 1"}, False),
        ({"unless": "SELECT 1 WHERE false"}, True),
        ({"onlyif": "SELECT 1 WHERE false"}, False),
        ({"onlyif": "SELECT 1", "unless": "SELECT 1"}, False),
        ({"unless": "SELECT 1", "search_path": ["public", "pg_catalog"]}, False),
        ({"unless": "SELECT 1 WHERE '$A' = 'b c'", "environment": "A=b c"}, False),
        ({"unless": "SELECT 1 WHERE '${A}$B' = 'b$B'", "environment": ["A=b"]}, False),
        ({"refreshonly": True}, False),
    ],
)
def test_guards_decide(node: Machine, server: PostgresServer, guards: dict[str, Any], expected: bool) -> None:
    assert is_due(psql(node, server, command="SELECT 1", **guards)) is expected


def test_refresh_obeys_the_guards(node: Machine, server: PostgresServer) -> None:
    psql(node, server, command="CREATE TABLE refreshed ()", refreshonly=True, unless="SELECT 1").refresh()
    late = psql(node, server, command="CREATE TABLE refreshed ()", refreshonly=True)
    late.refresh()
    with pytest.raises(UnavailableError, match="already exists"):
        late.refresh()


def test_dollars_of_a_hash_stay(node: Machine, server: PostgresServer) -> None:
    scram = "SCRAM-SHA-256$4096:c2FsdA==$c3RvcmVk:c2VydmVy"
    handler = psql(
        node,
        server,
        command=f"SELECT 1 WHERE '{scram}' <> ('SCRAM-SHA-256'||chr(36)||'4096:c2FsdA=='||chr(36)||'c3RvcmVk:c2VydmVy')",
    )
    assert is_due(psql(node, server, command="SELECT 1", unless=handler._command)) is True


@pytest.mark.parametrize(
    ("given", "secrets"),
    [
        ({"environment": "NEWPGPASSWD=hunter2"}, ()),
        ({"connect_settings": {"PGPASSWORD": "hunter2"}, "command": "hunter2"}, ()),
        ({"command": "hunter2 !"}, ("command",)),
        ({"command": "hunter2 !", "sensitive": True}, ()),
    ],
)
def test_secret_is_in_no_error(
    node: Machine, server: PostgresServer, given: dict[str, Any], secrets: tuple[str, ...]
) -> None:
    settings = {"PGHOST": str(server.directory), "PGUSER": USER, "PGDATABASE": "postgres"}
    given = {"command": "'$NEWPGPASSWD' !", **given}
    given["connect_settings"] = {**settings, **given.get("connect_settings", {})}
    handler = psql(node, server, secrets, **given)
    changes = handler.compare(handler.read())
    with pytest.raises(UnavailableError) as raised:
        handler.apply(changes[0])
    assert "hunter2" not in str(raised.value)
    if "sensitive" in given or secrets:
        assert "hunter2" not in str(handler.redact(changes[0]))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run programs as others")
def test_psql_is_run_as_its_user(node: Machine, server: PostgresServer) -> None:
    # Below /tmp, because other users cannot enter the directories of tests.
    with tempfile.TemporaryDirectory() as directory:
        program = Path(directory, "psql")
        program.write_text('#!/bin/sh\n[ "$(id -un):$(id -gn):$(pwd)" = nobody:nogroup:/usr ] && echo 1 || echo 0\n')
        program.chmod(0o755)
        program.parent.chmod(0o755)
        given = {"psql_path": str(program), "psql_user": "nobody", "psql_group": "nogroup", "cwd": "/usr"}
        assert not is_due(psql(node, server, command="SELECT 1", unless="SELECT 1", **given))


@pytest.mark.parametrize(
    "given",
    [{"cwd": "relative"}, {"environment": "nothing"}, {"connect_settings": "PGHOST=x"}, {"refreshonly": "maybe"}],
)
def test_wrong_parameters_are_refused(node: Machine, server: PostgresServer, given: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        psql(node, server, command="SELECT 1", **given)


def test_it_is_refused_below_a_root(tmp_path: Path, server: PostgresServer) -> None:
    with pytest.raises(InputError, match="cannot be applied below"):
        psql(Machine(str(tmp_path), str(tmp_path), SystemClock()), server, command="SELECT 1")
