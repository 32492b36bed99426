"""MySQL's types against a client with recorded answers: versions that no test can run, option files, errors and wrong parameters.

The differential test compares the rest with the module, over real servers.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from precast.agent.applying.machine import Machine
from precast.base.clock import ManualClock
from precast.base.errors import InputError, UnavailableError
from precast.resources.contract import CommandResult, DesiredResource, Handler
from precast.resources.mysql.database import MysqlDatabase
from precast.resources.mysql.grant import MysqlGrant
from precast.resources.mysql.user import MysqlUser

HASH = "*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19"
LIMITS = "MAX_USER_CONNECTIONS 0 MAX_CONNECTIONS_PER_HOUR 0 MAX_QUERIES_PER_HOUR 0 MAX_UPDATES_PER_HOUR 3"
USER_ROW = "app@localhost\t0\t0\t0\t0\t\t\t\t\t*OLD\tmysql_native_password\n"


class RecordedClient(Machine):
    """A machine whose client answers by the beginning of a statement; it records every command and statement."""

    def __init__(self, root: Path, answers: dict[str, str] | None = None, failure: str = "") -> None:
        super().__init__(str(root), str(root / "state"), ManualClock(), is_chroot=True)
        self.answers = {"SELECT VERSION()": "8.0.36\tMySQL Community Server\n", **(answers or {})}
        self.failure = failure
        self.commands: list[list[str]] = []
        self.statements: list[str] = []
        self.environments: list[dict[str, str]] = []

    def run(self, argv: Sequence[str], **options: Any) -> CommandResult:
        sql = options["stdin"].decode().removesuffix(";\n")
        self.commands.append(list(argv))
        self.environments.append(options["environment"])
        answer = next((rows for start, rows in self.answers.items() if sql.startswith(start)), None)
        if answer is None:
            self.statements.append(sql)
            return CommandResult(1 if self.failure else 0, "", self.failure)
        return CommandResult(0, answer)


def apply(handler: Handler) -> list[str]:
    changes = handler.compare(handler.read())
    for change in changes:
        handler.apply(change)
    return [change.message for change in changes]


def user(node: Machine, title: str = "app@localhost", secrets: tuple[str, ...] = (), **given: Any) -> MysqlUser:
    return MysqlUser(DesiredResource("mysql_user", title, given, frozenset(secrets)), node)


def grant(node: Machine, title: str = "app@localhost/a.*", **given: Any) -> MysqlGrant:
    return MysqlGrant(DesiredResource("mysql_grant", title, given), node)


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        (
            "8.0.36\tMySQL Community Server",
            [
                f"CREATE USER IF NOT EXISTS 'new'@'%' IDENTIFIED WITH 'mysql_native_password' AS '{HASH}'",
                f"ALTER USER 'new'@'%' WITH {LIMITS}",
                "ALTER USER 'new'@'%' REQUIRE NONE",
            ],
        ),
        (
            "5.5.60-log\tMySQL Community Server",
            [
                f"CREATE USER 'new'@'%' IDENTIFIED BY PASSWORD '{HASH}'",
                f"GRANT USAGE ON *.* TO 'new'@'%' WITH {LIMITS}",
                "GRANT USAGE ON *.* TO 'new'@'%' REQUIRE NONE",
            ],
        ),
    ],
)
def test_user_is_created_as_the_version_wants_it(tmp_path: Path, version: str, expected: list[str]) -> None:
    node = RecordedClient(tmp_path, {"SELECT VERSION()": f"{version}\n", "SELECT CONCAT(user": USER_ROW})
    assert apply(user(node, "new@%", password_hash=HASH, max_updates_per_hour=3)) == ["created"]
    assert node.statements == expected


@pytest.mark.parametrize(
    ("version", "given", "expected"),
    [
        (
            "8.0.36\tx",
            {"password_hash": HASH},
            f"ALTER USER 'app'@'localhost' IDENTIFIED WITH mysql_native_password AS '{HASH}'",
        ),
        ("5.7.5\tx", {"password_hash": HASH}, f"SET PASSWORD FOR 'app'@'localhost' = '{HASH}'"),
        (
            "8.0.36-28\tPercona Server",
            {"plugin": "auth_socket"},
            "ALTER USER 'app'@'localhost' IDENTIFIED WITH 'auth_socket'",
        ),
        (
            "10.1.48-MariaDB\tx",
            {"plugin": "unix_socket"},
            "UPDATE mysql.user SET plugin = 'unix_socket', password = '' WHERE CONCAT(user, '@', host) = 'app@localhost'",
        ),
        ("10.1.2-MariaDB\tx", {"ensure": "absent"}, "DROP USER 'app'@'localhost'"),
        ("10.11.6-MariaDB\tx", {"ensure": "absent"}, "DROP USER IF EXISTS 'app'@'localhost'"),
    ],
)
def test_user_is_changed_as_the_version_wants_it(
    tmp_path: Path, version: str, given: dict[str, Any], expected: str
) -> None:
    node = RecordedClient(tmp_path, {"SELECT VERSION()": f"{version}\n", "SELECT CONCAT(user": USER_ROW})
    apply(user(node, **given))
    assert node.statements == [expected]


def test_quotes_in_names_stay_in_their_literals(tmp_path: Path) -> None:
    node = RecordedClient(tmp_path, {"SELECT CONCAT(user": ""})
    apply(user(node, r"o'b\d@%", plugin="auth_socket"))
    assert node.statements[0] == r"CREATE USER 'o''b\\d'@'%' IDENTIFIED WITH 'auth_socket'"
    node = RecordedClient(tmp_path, {"SELECT SCHEMA_NAME": ""})
    apply(MysqlDatabase(DesiredResource("mysql_database", "a`b", {}), node))
    assert node.statements == ["CREATE DATABASE IF NOT EXISTS `a``b` CHARACTER SET utf8 COLLATE utf8_general_ci"]


def test_hash_is_on_no_command_line_and_in_no_error(tmp_path: Path) -> None:
    failure = f"--------------\nERROR 1064 (42000) at line 1: near '{HASH}' at line 1\n"
    node = RecordedClient(tmp_path, {"SELECT CONCAT(user": USER_ROW}, failure)
    handler = user(node, password_hash=HASH)
    (change,) = handler.compare(handler.read())
    assert change.message == "changed password"
    assert HASH not in str(change)
    assert "*OLD" not in str(change)
    with pytest.raises(UnavailableError, match="ERROR 1064") as raised:
        handler.apply(change)
    assert HASH not in str(raised.value)
    assert HASH not in str(node.commands)
    (sensitive,) = user(node, secrets=("password_hash",), password_hash=HASH).compare(handler.read())
    assert sensitive.message == "changed [redacted] to [redacted]"


def test_hash_of_another_kind_is_refused(tmp_path: Path) -> None:
    node = RecordedClient(tmp_path, {"SELECT CONCAT(user": USER_ROW})
    with pytest.raises(InputError, match="no hash of mysql_native_password"):
        apply(user(node, password_hash="$A$005$x"))
    assert node.statements == []


def test_old_and_new_name_of_utf8_are_the_same(tmp_path: Path) -> None:
    node = RecordedClient(tmp_path, {"SELECT SCHEMA_NAME": "a\tutf8mb3\tutf8mb3_general_ci\nb\tutf8mb4\tutf8mb4_bin\n"})
    assert apply(MysqlDatabase(DesiredResource("mysql_database", "a", {}), node)) == []
    assert len(apply(MysqlDatabase(DesiredResource("mysql_database", "b", {"ensure": "present"}), node))) == 2


def test_grants_are_read_in_every_form(tmp_path: Path) -> None:
    rows = (
        "GRANT USAGE ON *.* TO `app`@`localhost` IDENTIFIED BY PASSWORD '*X'\n"
        "GRANT SELECT (b, a), INSERT ON `a`.`t` TO `app`@`localhost` WITH GRANT OPTION\n"
        "GRANT ALL PRIVILEGES ON `x\\\\\\\\_y`.* TO `app`@`localhost`\n"
        "GRANT EXECUTE ON PROCEDURE `a`.`p` TO `app`@`localhost`\n"
        "GRANT `role` TO `app`@`localhost`\n"
    )
    node = RecordedClient(tmp_path, {"SHOW GRANTS": rows, "SELECT CONCAT(User": "app@localhost\n"})
    found = {instance.title: instance.properties for instance in MysqlGrant.instances(node)}
    assert list(found) == [
        "app@localhost/*.*",
        "app@localhost/a.t",
        "app@localhost/x\\_y.*",
        "app@localhost/PROCEDURE a.p",
    ]
    assert found["app@localhost/a.t"]["privileges"] == ["INSERT", "SELECT (a, b)"]
    assert found["app@localhost/a.t"]["options"] == ["GRANT"]


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("a.*", "GRANT SELECT ON `a`.* TO 'app'@'localhost'"),
        ("*.*", "GRANT SELECT ON *.* TO 'app'@'localhost'"),
        ("PROCEDURE a.p", "GRANT SELECT ON PROCEDURE `a`.p TO 'app'@'localhost'"),
    ],
)
def test_grant_names_its_table(tmp_path: Path, table: str, expected: str) -> None:
    node = RecordedClient(tmp_path, {"SHOW GRANTS": "", "SELECT CONCAT(User": "app@localhost\n"})
    handler = grant(node, f"app@localhost/{table}", user="app@localhost", table=table, privileges="select")
    assert apply(handler) == ["created"]
    handler.flush()
    assert node.statements == [expected, "FLUSH PRIVILEGES"]


def test_account_that_the_server_cannot_resolve_is_left_out(tmp_path: Path) -> None:
    class Partly(RecordedClient):
        def run(self, argv: Sequence[str], **options: Any) -> CommandResult:
            if options["stdin"].startswith(b"SHOW"):
                assert "--force" in argv
                text = "ERROR 1141 (42000) at line 1: There is no such grant defined for user 'root' on host 'vm'\n"
                return CommandResult(1, "GRANT USAGE ON *.* TO `app`@`localhost`\n", text)
            return super().run(argv, **options)

    node = Partly(tmp_path, {"SELECT CONCAT(User": "root@vm\napp@localhost\n"})
    assert [instance.title for instance in MysqlGrant.instances(node)] == ["app@localhost/*.*"]


@pytest.mark.parametrize(
    ("name", "words", "variable"),
    [
        (".my.cnf", ["mysql", "--defaults-extra-file=/home/of root/.my.cnf"], None),
        (".mylogin.cnf", ["mysql"], "/home/of root/.mylogin.cnf"),
        ("other", ["mysql"], None),
    ],
)
def test_client_connects_as_roots_files_say(tmp_path: Path, name: str, words: list[str], variable: str | None) -> None:
    home = tmp_path / "home/of root"
    home.mkdir(parents=True)
    (home / name).write_text("")
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/passwd").write_text("root:x:0:0:root:/home/of root:/bin/sh\n")
    node = RecordedClient(tmp_path, {"SELECT SCHEMA_NAME": ""})
    list(MysqlDatabase.instances(node))
    assert node.commands == [[*words, "--batch", "--skip-column-names"]]
    assert node.environments[0].get("MYSQL_TEST_LOGIN_FILE") == variable


@pytest.mark.parametrize(
    ("title", "given"),
    [
        ("no-at-sign", {}),
        ("'quoted'@localhost", {}),
        ("a@h;x", {}),
        ("a@h", {"max_user_connections": "many"}),
        ("a@h", {"plugin": "a'b"}),
        ("a@h", {"tls_options": ["SSL", "X509"]}),
        ("a@h", {"tls_options": ["OTHER x"]}),
        ("a@h", {"ensure": "there"}),
    ],
)
def test_wrong_parameters_of_a_user_are_refused(tmp_path: Path, title: str, given: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        user(RecordedClient(tmp_path), title, **given)


@pytest.mark.parametrize(
    ("title", "given"),
    [
        ("a@h/x.*", {"user": "a@h", "table": "x.*"}),
        ("a@h/x.*", {"user": "a@h", "privileges": "ALL"}),
        ("other", {"user": "a@h", "table": "x.*", "privileges": "ALL"}),
        ("a@h/x", {"user": "a@h", "table": "x", "privileges": "ALL"}),
        ("a@h/x.*", {"user": "a@h", "table": "x.*", "privileges": "PROXY"}),
        ("a@h/b@h", {"user": "a@h", "table": "b@h", "privileges": ["PROXY", "SELECT"]}),
    ],
)
def test_wrong_parameters_of_a_grant_are_refused(tmp_path: Path, title: str, given: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        grant(RecordedClient(tmp_path), title, **given)


def test_they_are_refused_below_a_root_without_programs(tmp_path: Path) -> None:
    node = Machine(str(tmp_path), str(tmp_path), ManualClock())
    with pytest.raises(InputError, match="cannot be applied below"):
        user(node)
