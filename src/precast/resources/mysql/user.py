"""mysql_user: an account with its password's hash, its plug-in, its limits and what it must prove over TLS."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from precast.base.scrubbing import REDACTED
from precast.resources import issues_databases
from precast.resources.contract import Change, DesiredResource, Instance, ManagedNode, State
from precast.resources.mysql import client
from precast.resources.properties import ABSENT, PRESENT, PropertyHandler, as_texts, invalid_value

_LIMITS = {
    "max_user_connections": "MAX_USER_CONNECTIONS",
    "max_connections_per_hour": "MAX_CONNECTIONS_PER_HOUR",
    "max_queries_per_hour": "MAX_QUERIES_PER_HOUR",
    "max_updates_per_hour": "MAX_UPDATES_PER_HOUR",
}
_COLUMNS = (
    "max_user_connections, max_connections, max_questions, max_updates, ssl_type, ssl_cipher, x509_issuer, x509_subject"
)
_NATIVE = "mysql_native_password"
# The first versions whose accounts have their hash in another column, and those that change accounts with ALTER USER.
_AUTHENTICATION_STRING = {"mysql": (5, 7, 6), "percona": (5, 7, 6), "mariadb": (10, 2, 16)}
_ALTER_USER = {"mysql": (5, 7, 6), "percona": (5, 7, 6), "mariadb": (10, 2, 0)}
_CREATE_WITH_PLUGIN = {"mysql": (5, 7, 6), "percona": (5, 7, 6), "mariadb": (10, 1, 3)}
_TLS_WORD = re.compile(r"NONE|SSL|X509")
_TLS_OPTION = re.compile(r"(CIPHER|ISSUER|SUBJECT)", re.IGNORECASE)


class MysqlUser(PropertyHandler):
    order: ClassVar[tuple[str, ...]] = ("password_hash", "plugin", *_LIMITS, "tls_options")
    can_be_purged: ClassVar[bool] = True
    providers: ClassVar[tuple[str, ...]] = ("mysql",)
    has_secret_list: ClassVar[bool] = True
    always_secret: ClassVar[frozenset[str]] = frozenset(("password_hash",))
    locks: ClassVar[tuple[str, ...]] = ("mysql",)
    invalidates: ClassVar[tuple[str, ...] | None] = (client.USERS, client.GRANTS)

    def __init__(self, resource: DesiredResource, node: ManagedNode) -> None:
        client.require_system(resource, node)
        super().__init__(resource, node)
        self.name = client.parse_user(resource, "name", self.name)
        self._account = client.quote_user(self.name)

    @property
    def is_slow_to_read(self) -> bool:
        return True

    def munge(self, name: str, value: Any) -> Any:
        if name in _LIMITS:
            if isinstance(value, bool) or not str(value).isdecimal():
                raise invalid_value(self.resource, name, value, "it is a number")
            return value
        if name == "tls_options":
            return self._tls_options(as_texts(value))
        if name == "plugin" and not re.fullmatch(r"\w+", str(value)):
            raise invalid_value(self.resource, name, value, "it is one word")
        return str(value)

    def _tls_options(self, options: list[str]) -> list[str]:
        if len(options) > 1 and any(_TLS_WORD.fullmatch(option) for option in options):
            raise invalid_value(self.resource, "tls_options", options, "NONE, SSL and X509 have no other options")
        for option in options:
            if not _TLS_WORD.fullmatch(option) and not _TLS_OPTION.match(option):
                raise invalid_value(self.resource, "tls_options", option, "it begins with CIPHER, ISSUER or SUBJECT")
        return options

    def read(self) -> State:
        return _read_all(self.node).get(self.name, {"ensure": ABSENT})

    def is_in_sync(self, name: str, previous: Any, desired: Any) -> bool:
        if name == "tls_options":
            # SQL wants quotes around a cipher or a name, and the server returns them without.
            return sorted(previous) == sorted(option.replace("'", "") for option in desired)
        return str(previous) == str(desired)

    def change(self, name: str, previous: Any, desired: Any) -> Change:
        if name != "password_hash":
            return super().change(name, previous, desired)
        is_redacted = name in self.resource.secrets
        text = f"changed {REDACTED} to {REDACTED}" if is_redacted else "changed password"
        return Change(name, REDACTED, REDACTED, text, is_sensitive=True)

    def apply(self, change: Change) -> None:
        if change.property == "ensure":
            if change.desired == ABSENT:
                self._run(f"DROP USER {self._if_exists()}{self._account}")
            else:
                self._create()
        elif change.property == "password_hash":
            self._set_password()
        elif change.property == "plugin":
            self._set_plugin()
        elif change.property == "tls_options":
            self._alter(f"REQUIRE {' AND '.join(self.desired['tls_options'])}")
        else:
            self._alter(f"WITH {_LIMITS[change.property]} {change.desired}")

    def _create(self) -> None:
        plugin, password = self.desired.get("plugin"), client.quote(self._password())
        if plugin is not None:
            given = f" AS {password}" if "password_hash" in self.desired else ""
            self._run(f"CREATE USER {self._account} IDENTIFIED WITH '{plugin}'{given}")
        elif self._is_from(_CREATE_WITH_PLUGIN):
            self._run(f"CREATE USER IF NOT EXISTS {self._account} IDENTIFIED WITH '{_NATIVE}' AS {password}")
        else:
            self._run(f"CREATE USER {self._account} IDENTIFIED BY PASSWORD {password}")
        limits = " ".join(f"{word} {self.desired.get(name, 0)}" for name, word in _LIMITS.items())
        self._alter(f"WITH {limits}")
        self._alter(f"REQUIRE {' AND '.join(self.desired.get('tls_options', ['NONE']))}")

    def _set_password(self) -> None:
        password = self._password()
        if not self._is_from(_ALTER_USER):
            self._run(f"SET PASSWORD FOR {self._account} = {client.quote(password)}")
            return
        if not re.match(r"\*|$", password):
            raise issues_databases.NO_NATIVE_HASH.error(user=self.name)
        self._run(f"ALTER USER {self._account} IDENTIFIED WITH {_NATIVE} AS {client.quote(password)}")

    def _set_plugin(self) -> None:
        plugin = self.desired["plugin"]
        password = client.quote(self._password() if plugin == _NATIVE else "")
        if self._is_from(_ALTER_USER):
            given = f" AS {password}" if plugin == _NATIVE else ""
            self._run(f"ALTER USER {self._account} IDENTIFIED WITH '{plugin}'{given}")
            return
        name = client.quote(self.name)
        self._run(
            f"UPDATE mysql.user SET plugin = '{plugin}', password = {password} WHERE CONCAT(user, '@', host) = {name}"  # noqa: S608 - quoted
        )

    def _alter(self, what: str) -> None:
        """Change the limits or the requirements of the account."""
        command = "ALTER USER" if self._is_from(_ALTER_USER) else "GRANT USAGE ON *.* TO"
        self._run(f"{command} {self._account} {what}")

    def _if_exists(self) -> str:
        return "IF EXISTS " if self._is_from({"mysql": (5, 7), "percona": (5, 7), "mariadb": (10, 1, 3)}) else ""

    def _is_from(self, first: Mapping[str, tuple[int, ...]]) -> bool:
        return client.read_version(self.node).is_from(first)

    def _password(self) -> str:
        return str(self.desired.get("password_hash", ""))

    def _run(self, sql: str) -> None:
        client.run(self.node, sql, hidden=(self._password(),))

    @classmethod
    def instances(cls, node: ManagedNode) -> Iterable[Instance]:
        return [Instance(name, state) for name, state in _read_all(node).items()]


def _read_all(node: ManagedNode) -> dict[str, State]:
    return node.snapshot(client.USERS, lambda: _read(node))


def _read(node: ManagedNode) -> dict[str, State]:
    column = "authentication_string" if client.read_version(node).is_from(_AUTHENTICATION_STRING) else "password"
    sql = f"SELECT CONCAT(user, '@', host), {_COLUMNS}, {column}, plugin FROM mysql.user"  # noqa: S608 - constants
    return {row[0]: _state(row) for row in client.run(node, sql)}


def _state(row: list[str]) -> State:
    limits = dict(zip(_LIMITS, row[1:5], strict=True))
    return {"ensure": PRESENT, "password_hash": row[9], "plugin": row[10], **limits, "tls_options": _tls(*row[5:9])}


def _tls(kind: str, cipher: str, issuer: str, subject: str) -> list[str]:
    if kind != "SPECIFIED":
        return [{"ANY": "SSL", "X509": "X509"}.get(kind, "NONE")]
    return [
        f"{word} {value}" for word, value in (("CIPHER", cipher), ("ISSUER", issuer), ("SUBJECT", subject)) if value
    ]
