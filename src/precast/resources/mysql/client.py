"""Runs SQL with the client `mysql`, as root's option file tells it to connect.

SQL goes to the client's standard input, so that no list of processes shows a password's hash. The server is asked for its version: the
program `mysqld` of this machine may be another one, or missing.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from precast.base.scrubbing import REDACTED
from precast.resources import issues, issues_databases
from precast.resources.accounts import find_user
from precast.resources.contract import DesiredResource, ManagedNode
from precast.resources.files import safe_reads
from precast.resources.properties import invalid_value

USERS, GRANTS, DATABASES, _VERSION = "mysql users", "mysql grants", "mysql databases", "mysql version"
_PATH = "/usr/sbin:/usr/bin:/sbin:/bin:/usr/libexec:/usr/local/libexec:/usr/local/bin"
_ESCAPES = {"\\n": "\n", "\\t": "\t", "\\0": "\0", "\\\\": "\\"}
_ESCAPE = re.compile(r"\\[nt0\\]")
_USER_FORMS = (
    re.compile(r"([0-9a-zA-Z$_]*)@([\w%.:\-/]+)"),
    re.compile(r"((?!['`\"]).*[^0-9a-zA-Z$_].*)@(.+)"),
)


class ServerVersion(NamedTuple):
    """Which of the servers it is (mysql, mariadb, percona), and its number."""

    fork: str
    number: tuple[int, ...]

    def is_from(self, first: Mapping[str, tuple[int, ...]]) -> bool:
        """Whether it is one of these servers, of this version or newer."""
        return self.fork in first and self.number >= first[self.fork]


def require_system(resource: DesiredResource, node: ManagedNode) -> None:
    """Raises InputError RESOURCE-008 where no client can run."""
    if node.root and not node.is_chroot:
        raise issues.NOT_UNDER_ROOT.error(type=resource.type, root=node.root)


def run(node: ManagedNode, sql: str, hidden: Iterable[str] = (), tolerated: str = "") -> list[list[str]]:
    """Run statements and return the rows that they give. Raises UnavailableError RESOURCE-202; `hidden` is not in its text.

    With `tolerated` a statement that fails with this text does not stop the others.
    """
    argv, environment = _command(node)
    words = [*argv, "--batch", "--skip-column-names", *(["--force"] if tolerated else [])]
    result = node.run(words, environment=environment, stdin=f"{sql};\n".encode(), is_split=True)
    errors = [line for line in result.errors.splitlines() if not tolerated or tolerated not in line]
    failures = [line for line in errors if line.startswith("ERROR")]
    if failures or (not result.is_success and not tolerated):
        text = " ".join(" ".join(failures or errors).split())
        for secret in filter(None, hidden):
            text = text.replace(secret, REDACTED)
        raise issues_databases.MYSQL_FAILED.error(code=result.exit_code, output=text)
    return [[_unescape(field) for field in line.split("\t")] for line in result.output.splitlines()]


def read_version(node: ManagedNode) -> ServerVersion:
    return node.snapshot(
        _VERSION, lambda: _parse_version(" ".join(run(node, "SELECT VERSION(), @@version_comment")[0]))
    )


def quote(text: str) -> str:
    """A text as a literal of SQL."""
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


def quote_user(user: str) -> str:
    """`user@host` as SQL names an account; the last @ separates them."""
    name, _, host = user.rpartition("@")
    return f"{quote(name)}@{quote(host)}"


def quote_name(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def parse_user(resource: DesiredResource, attribute: str, user: str) -> str:
    """`user@host` with the host in lower case. Raises InputError RESOURCE-006."""
    match = next((match for form in _USER_FORMS if (match := form.fullmatch(user))), None)
    if match is None:
        raise invalid_value(resource, attribute, user, "it has the form user@host, without quotes")
    return f"{match[1]}@{match[2].lower()}"


def read_users(node: ManagedNode) -> Sequence[str]:
    return [row[0] for row in run(node, "SELECT CONCAT(User, '@', Host) FROM mysql.user")]


def _command(node: ManagedNode) -> tuple[list[str], dict[str, str]]:
    """The client with root's option file, or with root's login file."""
    root = find_user(node, "root", is_local=True)
    home = root.home if root is not None else "/root"
    environment = {"PATH": _PATH, "HOME": home}
    parents = safe_reads.node_parents(node)
    if safe_reads.exists(parents, f"{home}/.mylogin.cnf"):
        return ["mysql"], {**environment, "MYSQL_TEST_LOGIN_FILE": f"{home}/.mylogin.cnf"}
    if safe_reads.exists(parents, f"{home}/.my.cnf"):
        return ["mysql", f"--defaults-extra-file={home}/.my.cnf"], environment
    return ["mysql"], environment


def _parse_version(text: str) -> ServerVersion:
    lowered = text.lower()
    fork = "mariadb" if "mariadb" in lowered else "percona" if "percona" in lowered else "mysql"
    match = re.search(r"\d+(?:\.\d+)+", text)
    return ServerVersion(fork, tuple(map(int, match[0].split("."))) if match else ())


def _unescape(field: str) -> str:
    return _ESCAPE.sub(lambda match: _ESCAPES[match[0]], field)
