"""mysql_user, mysql_grant and mysql_database: the same manifests for two MariaDB servers, by the module under Puppet and by Precast."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from lab import mariadb
from lab.mariadb import MariadbServer
from precast.agent.applying.machine import Machine
from precast.base.clock import SystemClock
from precast.catalog.envelope import seal
from precast.resources.contract import CommandResult
from tests.differential.apply.comparison import with_precast, with_puppet
from tests.unit.lang.small_manifests import compiled

MODULES = Path("/usr/share/puppet/modules")
ONE, TWO = "*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19", "*94BDCEBE19083CE2A1F959FD02F964C7AF4CFC29"
STEPS = (
    f"""
    mysql_database {{ 'plain': ensure => present, charset => 'utf8mb4', collate => 'utf8mb4_general_ci' }}
    mysql_database {{ 'odd-name': charset => 'latin1', collate => 'latin1_swedish_ci' }}
    mysql_user {{ 'app@LocalHost': ensure => present, password_hash => '{ONE}', max_user_connections => 5 }}
    mysql_user {{ 'o.dd@10.0.%': ensure => present, password_hash => Sensitive('{ONE}'), tls_options => ['SSL'] }}
    mysql_user {{ 'a@b@localhost': ensure => present, password_hash => '{ONE}' }}
    mysql_user {{ 'plug@%': ensure => present, plugin => 'mysql_native_password', password_hash => '{ONE}' }}
    mysql_user {{ 'bare@localhost': ensure => present }}
    mysql_user {{ 'nobody@localhost': ensure => absent }}
    mysql_grant {{ 'app@localhost/plain.*': user => 'app@localhost', table => 'plain.*', privileges => ['select', 'INSERT'] }}
    mysql_grant {{ 'app@localhost/*.*': user => 'app@localhost', table => '*.*', privileges => ['USAGE'] }}
    mysql_grant {{ 'o.dd@10.0.%/odd-name.*':
      user => 'o.dd@10.0.%', table => 'odd-name.*', privileges => ['ALL', 'SELECT'], options => ['GRANT'] }}
    mysql_grant {{ 'a@b@localhost/mysql.user': user => 'a@b@localhost', table => 'mysql.user',
      privileges => ['SELECT (User, Host)', 'update (password)'] }}
    mysql_grant {{ 'plug@%/bare@localhost': user => 'plug@%', table => 'bare@localhost', privileges => ['PROXY'] }}
    """,
    f"""
    mysql_database {{ 'plain': ensure => present, charset => 'utf8mb4', collate => 'utf8mb4_unicode_ci' }}
    mysql_database {{ 'odd-name': ensure => absent }}
    mysql_user {{ 'app@localhost': ensure => present, password_hash => '{TWO}', max_user_connections => 7,
      max_queries_per_hour => '9', tls_options => 'X509' }}
    mysql_user {{ 'o.dd@10.0.%': ensure => present, tls_options => ['NONE'] }}
    mysql_user {{ 'bare@localhost': ensure => absent }}
    mysql_grant {{ 'app@localhost/plain.*': user => 'app@localhost', table => 'plain.*', privileges => ['SELECT', 'DELETE'] }}
    mysql_grant {{ 'o.dd@10.0.%/odd-name.*': ensure => absent, user => 'o.dd@10.0.%', table => 'odd-name.*' }}
    mysql_grant {{ 'a@b@localhost/mysql.user': user => 'a@b@localhost', table => 'mysql.user', privileges => ['ALL'],
      options => ['GRANT'] }}
    """,
    """
    mysql_grant { 'app@localhost/plain.*': user => 'app@localhost', table => 'plain.*', privileges => ['ALL'] }
    mysql_grant { 'a@b@localhost/mysql.user': user => 'a@b@localhost', table => 'mysql.user', privileges => ['SELECT'] }
    """,
)
ACCOUNTS = """SELECT User, Host, Password, plugin, max_questions, max_updates, max_connections, max_user_connections, ssl_type
FROM mysql.user ORDER BY User, Host"""
DATABASES = """SELECT SCHEMA_NAME, DEFAULT_CHARACTER_SET_NAME, DEFAULT_COLLATION_NAME
FROM information_schema.SCHEMATA ORDER BY SCHEMA_NAME"""


class SocketMachine(Machine):
    """A machine with the option file of a server instead of root's."""

    def __init__(self, state: Path, server: MariadbServer) -> None:
        super().__init__("", str(state), SystemClock())
        self._home = str(server.directory)

    def run(self, argv: Any, **options: Any) -> CommandResult:
        environment = {**(options.pop("environment", None) or {}), "HOME": self._home}
        return super().run(argv, environment=environment, **options)


def write_catalog(code: str, path: Path) -> None:
    places = (MODULES / "mysql/lib/puppet").rglob("*.rb")
    files = {
        f"modules/{place.relative_to(MODULES)}": place.read_text() for place in places if "functions" not in str(place)
    }
    body = compiled(code, files).body
    sealed = seal(body, body.digest(), name="node", environment="production", code_id=None)
    for resource in sealed["resources"]:
        if resource["type"].startswith("Mysql_"):
            resource["kind"] = "compilable_type"
    path.write_text(json.dumps(sealed))


def dump(server: MariadbServer) -> str:
    # Without name resolution, the server has no grants for accounts of the machine's own name.
    named = "SELECT CONCAT(QUOTE(User), '@', QUOTE(Host)) FROM mysql.user WHERE Host IN ('localhost', '%', '10.0.%') ORDER BY 1"
    grants = [server.run(f"SHOW GRANTS FOR {account}") for account in server.run(named).splitlines()]
    return "\n".join([server.run(ACCOUNTS), server.run(DATABASES), *grants])


@pytest.mark.needs("ruby")
@pytest.mark.needs("puppet")
def test_accounts_grants_and_databases_become_what_the_module_makes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not (MODULES / "mysql").is_dir() or not mariadb.is_installed():
        pytest.skip(
            "needs puppet-module-puppetlabs-mysql, mariadb-server-core and mariadb-client-core (Debian packages)"
        )
    catalogs = [tmp_path / f"{number}.json" for number in range(len(STEPS))]
    for code, path in zip(STEPS, catalogs, strict=True):
        write_catalog(code, path)
    # The module's provider needs the program, but none of these types calls it.
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/mysqladmin").symlink_to("/bin/false")
    monkeypatch.setenv("PATH", f"{os.environ['PATH']}:/usr/sbin:{tmp_path}/bin")
    # Facts of the module, which pluginsync would bring.
    facts = {"mysql_version": "'10.11.6'", "root_home": "ENV['SERVER']"}
    adding = "".join(f"Facter.add({name!r}) {{ setcode {{ {code} }} }}\n" for name, code in facts.items())
    (tmp_path / "facts.rb").write_text(f"require 'facter'\n{adding}")
    monkeypatch.setenv("RUBYOPT", f"-r{tmp_path}/facts.rb")
    counts = []
    with MariadbServer() as puppets, MariadbServer() as own:
        for server in (puppets, own):
            (server.directory / ".my.cnf").write_text(f"[client]\nsocket = {server.socket}\nuser = root\n")
        monkeypatch.setenv("SERVER", str(puppets.directory))
        for path in catalogs:
            theirs = with_puppet(tmp_path / "state", [MODULES], [path, path], [puppets.directory] * 2)
            ours = [
                with_precast(tmp_path / "ours", [MODULES], path, own.directory, SocketMachine(tmp_path / "ours", own))
                for _ in range(2)
            ]
            assert dump(own) == dump(puppets)
            assert [each.reasons for each in (*ours, *theirs)] == [()] * 4
            assert [each.messages for each in ours] == [each.messages for each in theirs]
            counts.append([len(each.changed) for each in ours])
    assert counts == [[11, 0], [8, 0], [2, 0]]
