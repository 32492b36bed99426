"""postgresql_psql: the same manifest for two PostgreSQL servers, applied by the module under real Puppet and by Precast.

Failures are not compared: with the Ruby that Debian's Puppet runs on, the module takes every exit code for 0, because a copy of a process's
status is empty there. `tests/component/resources/test_postgresql_psql.py` covers them.
"""

import json
import subprocess
from pathlib import Path

import pytest

from lab.postgres import USER, PostgresServer
from precast.catalog.envelope import seal
from tests.differential.apply.comparison import Outcome, with_precast, with_puppet
from tests.unit.lang.small_manifests import compiled

MODULES = Path("/usr/share/puppet/modules")
CODE = """
Postgresql_psql {
  psql_path => 'PROGRAM', psql_user => 'root', psql_group => 'root', cwd => '/',
  connect_settings => { 'PGHOST' => 'ROOT', 'PGUSER' => 'NAME', 'PGDATABASE' => 'postgres' },
}
postgresql_psql { 'table':
  command => 'CREATE TABLE t (a int)', unless => "SELECT 1 FROM pg_tables WHERE tablename = 't'", require => undef,
}
-> postgresql_psql { "INSERT INTO t VALUES (1)": onlyif => 'SELECT 1 FROM t HAVING count(*) = 0' }
-> postgresql_psql { 'never': command => 'INSERT INTO t VALUES (2)', onlyif => 'SELECT 1 WHERE false' }
-> postgresql_psql { 'both':
  command => 'INSERT INTO t VALUES (3)', onlyif => 'SELECT 1', unless => 'SELECT 1 FROM t WHERE a = 3' }
-> postgresql_psql { 'quotes':
  command => 'CREATE TABLE "Mixed Case" ("b c" text)', unless => "SELECT 1 FROM pg_tables WHERE tablename = 'Mixed Case'" }
-> postgresql_psql { 'role':
  command => "CREATE ROLE app LOGIN PASSWORD '\\$NEWPGPASSWD'", environment => 'NEWPGPASSWD=se cret',
  unless => "SELECT 1 FROM pg_roles WHERE rolname = 'app'" }
-> postgresql_psql { 'schema': command => 'CREATE SCHEMA s', unless => "SELECT 1 FROM pg_namespace WHERE nspname = 's'" }
-> postgresql_psql { 'path': command => 'CREATE TABLE IF NOT EXISTS inside (x int)', search_path => ['s', 'public'] }
~> postgresql_psql { 'late': command => 'INSERT INTO inside VALUES (7)', search_path => 's', refreshonly => true }
-> postgresql_psql { 'database': command => 'CREATE DATABASE other', unless => "SELECT 1 FROM pg_database WHERE datname = 'other'" }
-> postgresql_psql { 'elsewhere': db => 'other', port => 5432, command => 'CREATE TABLE here ()',
  unless => "SELECT 1 FROM pg_tables WHERE tablename = 'here'" }
postgresql_psql { 'secret': command => Sensitive("COMMENT ON ROLE app IS 'hidden'"), unless => 'SELECT 1 WHERE false' }
"""
DUMP = """SELECT 't', a::text FROM t UNION ALL SELECT 'inside', x::text FROM s.inside
UNION ALL SELECT 'table', schemaname || '.' || tablename FROM pg_tables WHERE schemaname IN ('public', 's')
UNION ALL SELECT 'database', datname FROM pg_database UNION ALL SELECT 'role', rolname FROM pg_roles WHERE rolcanlogin
UNION ALL SELECT 'comment', description FROM pg_shdescription WHERE classoid = 'pg_authid'::regclass ORDER BY 1, 2"""


def program(server: PostgresServer) -> Path:
    return Path(server._programs) / "psql"


def write_catalog(server: PostgresServer, path: Path) -> None:
    files = {
        f"modules/{place.relative_to(MODULES)}": place.read_text()
        for place in (MODULES / "postgresql/lib/puppet").rglob("*.rb")
        if "functions" not in str(place)
    }
    code = CODE.replace("NAME", USER).replace("ROOT", str(server.directory)).replace("PROGRAM", str(program(server)))
    body = compiled(code, files).body
    sealed = seal(body, body.digest(), name="node", environment="production", code_id=None)
    for resource in sealed["resources"]:
        if resource["type"] == "Postgresql_psql":
            resource["kind"] = "compilable_type"
    path.write_text(json.dumps(sealed))


def dump(server: PostgresServer) -> str:
    words: list[str] = [str(program(server)), "-X", "-A", "-t", "-c", DUMP, server.url()]
    found = subprocess.run(words, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    return found.stdout


@pytest.mark.needs("ruby")
@pytest.mark.needs("puppet")
def test_sql_is_run_as_the_module_runs_it(tmp_path: Path) -> None:
    if not (MODULES / "postgresql").is_dir():
        pytest.skip("needs puppet-module-puppetlabs-postgresql (a Debian package)")
    catalog = tmp_path / "catalog.json"
    with PostgresServer(is_in_memory=True) as puppets, PostgresServer(is_in_memory=True) as own:
        write_catalog(puppets, catalog)
        theirs = with_puppet(tmp_path / "state", [MODULES], [catalog] * 2, [puppets.directory] * 2)
        write_catalog(own, catalog)
        ours = [with_precast(tmp_path / "ours", [MODULES], catalog, own.directory) for _ in range(2)]
        assert dump(own) == dump(puppets)
        assert "inside|7" in dump(own)
    assert [_comparable(each) for each in ours] == [_comparable(each) for each in theirs]
    assert len(ours[0].changed) == 11
    assert ours[1].changed == {f"Postgresql_psql[{title}]" for title in ("path", "late", "secret")}


def _comparable(outcome: Outcome) -> tuple[object, ...]:
    return outcome.messages, outcome.failed, outcome.skipped
