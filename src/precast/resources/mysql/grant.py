"""mysql_grant: the privileges of an account on a table, a database, a routine, or as the proxy of another account."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from precast.resources import issues
from precast.resources.contract import Change, DesiredResource, Instance, ManagedNode, State
from precast.resources.mysql import client
from precast.resources.properties import ABSENT, PRESENT, PropertyHandler, as_texts, invalid_value

_NO_GRANT = "There is no such grant defined for user"
_GRANT = re.compile(r"GRANT\s(.+)\sON\s(.+)\sTO\s(.*)@(.*?)(\s.*)?")
_QUOTES = str.maketrans("", "", "'`\"")
# A comma that is not inside of parentheses.
_COMMA = re.compile(r"\s*,\s*(?![^(]*\))")
_COLUMNS = re.compile(r"([^(]+?)\s*\((.*)\)\s*", re.DOTALL)
_ROUTINE = re.compile(r"(FUNCTION|PROCEDURE) (.*)(\..*)")
_TABLE = re.compile(r"(.*)(\..*)")
_PROXIED = re.compile(r"[0-9a-zA-Z$_]*@[\w%.:\-/]*")


class MysqlGrant(PropertyHandler):
    order: ClassVar[tuple[str, ...]] = ("privileges", "table", "user", "options")
    can_be_purged: ClassVar[bool] = True
    providers: ClassVar[tuple[str, ...]] = ("mysql",)
    locks: ClassVar[tuple[str, ...]] = ("mysql",)
    invalidates: ClassVar[tuple[str, ...] | None] = (client.GRANTS,)

    def __init__(self, resource: DesiredResource, node: ManagedNode) -> None:
        client.require_system(resource, node)
        super().__init__(resource, node)
        self.name = self.name.replace("'", "")
        if self.ensure != ABSENT:
            for name in ("privileges", "table", "user"):
                if self.desired.get(name) is None:
                    raise issues.MISSING_VALUE.error(type=resource.type, name=name, reason="it says what to grant")
        user, table = self.desired.get("user"), self.desired.get("table")
        if user is not None and table is not None and self.name != f"{user}/{table}":
            raise invalid_value(resource, "name", self.name, f"it is USER@HOST/TABLE, here {user}/{table}")

    @property
    def is_slow_to_read(self) -> bool:
        return True

    def munge(self, name: str, value: Any) -> Any:
        if name == "user":
            return client.parse_user(self.resource, "user", str(value))
        if name == "privileges":
            return self._privileges(as_texts(value))
        if name == "options":
            return as_texts(value)
        table = str(value).replace("`", "")
        is_proxy = "PROXY" in as_texts(self.resource.get("privileges", []))
        if not (_PROXIED.fullmatch(table) or (_TABLE.fullmatch(table) and not is_proxy)):
            raise invalid_value(
                self.resource, name, value, "it is DATABASE.TABLE, or an account with the privilege PROXY"
            )
        return table

    def _privileges(self, given: list[str]) -> list[str]:
        """The privileges in the form in which the server lists them."""
        if len(given) > 1 and any("ALL" in privilege for privilege in given):
            return ["ALL"]
        if len(given) > 1 and "PROXY" in given:
            raise invalid_value(self.resource, "privileges", given, "PROXY is granted alone")
        return sorted({_form(privilege) for privilege in given} - {"GRANT", "GRANT OPTION"})

    def read(self) -> State:
        return _read_all(self.node).get(self.name, {"ensure": ABSENT})

    def apply(self, change: Change) -> None:
        if change.property == "ensure":
            if change.desired == ABSENT:
                self._destroy()
            else:
                self._grant(self.desired["privileges"], self.desired.get("options", ()))
        elif change.property == "privileges":
            self._change_privileges(change.previous, change.desired)
        elif change.property == "options":
            self._revoke(["ALL"])
            self._grant(self.desired["privileges"], change.desired)

    def flush(self) -> None:
        client.run(self.node, "FLUSH PRIVILEGES")

    def _change_privileges(self, previous: Sequence[str], desired: Sequence[str]) -> None:
        if "ALL" in desired:
            revoked, granted = [], list(desired)
        elif "ALL" in previous:
            revoked, granted = list(previous), list(desired)
        else:
            revoked = [each for each in previous if each not in desired]
            granted = [each for each in desired if each not in previous]
        options = self.read().get("options", ())
        if revoked:
            self._revoke(revoked)
        if granted:
            self._grant(granted, options)

    def _destroy(self) -> None:
        state = self.read()
        if state["user"] in client.read_users(self.node):
            self._revoke(state["privileges"] if "PROXY" in state["privileges"] else ["ALL"])

    def _grant(self, privileges: Sequence[str], options: Sequence[str]) -> None:
        option = " WITH GRANT OPTION" if "GRANT" in options else ""
        self._run(f"GRANT {_list(privileges)} ON {self._target(privileges)} TO {self._account}{option}")

    def _revoke(self, privileges: Sequence[str]) -> None:
        target = self._target(privileges)
        if "ALL" in privileges:
            # A statement of its own: with ON, the server does not take both in one.
            self._run(f"REVOKE GRANT OPTION ON {target} FROM {self._account}")
        self._run(f"REVOKE {_list(privileges)} ON {target} FROM {self._account}")

    @property
    def _account(self) -> str:
        return client.quote_user(self._user_and_table()[0])

    def _user_and_table(self) -> tuple[str, str]:
        state = self.read()
        user, table = self.desired.get("user", state.get("user")), self.desired.get("table", state.get("table"))
        return str(user), str(table)

    def _target(self, privileges: Sequence[str]) -> str:
        table = self._user_and_table()[1]
        if "PROXY" in privileges:
            return client.quote_user(table)
        if table == "*.*":
            return table
        if match := _ROUTINE.fullmatch(table):
            return f"{match[1]} {client.quote_name(match[2])}{match[3]}"
        match = _TABLE.fullmatch(table)
        return f"{client.quote_name(match[1])}{match[2]}" if match else table

    def _run(self, sql: str) -> None:
        client.run(self.node, sql)

    @classmethod
    def instances(cls, node: ManagedNode) -> Iterable[Instance]:
        return [Instance(name, state) for name, state in _read_all(node).items()]


def _read_all(node: ManagedNode) -> dict[str, State]:
    return node.snapshot(client.GRANTS, lambda: _read(node))


def _read(node: ManagedNode) -> dict[str, State]:
    """All grants of all accounts. An account without any is left out, as one that the server cannot resolve."""
    users = client.read_users(node)
    if not users:
        return {}
    rows = client.run(
        node, ";\n".join(f"SHOW GRANTS FOR {client.quote_user(user)}" for user in users), tolerated=_NO_GRANT
    )
    return {name: state for row in rows for name, state in _parse(row[0])}


def _parse(line: str) -> Iterable[tuple[str, State]]:
    match = _GRANT.fullmatch(line.translate(_QUOTES))
    if match is not None:
        table, user = match[2].replace("\\\\", "\\"), f"{match[3]}@{match[4]}"
        options = ["GRANT"] if re.search(r"WITH\sGRANT\sOPTION", match[5] or "") else ["NONE"]
        privileges = sorted(
            "ALL" if privilege == "ALL PRIVILEGES" else _form(privilege) for privilege in _COMMA.split(match[1].strip())
        )
        yield (
            f"{user}/{table}",
            {"ensure": PRESENT, "privileges": privileges, "table": table, "user": user, "options": options},
        )


def _form(privilege: str) -> str:
    """A privilege in capital letters; its columns are sorted and keep their case."""
    match = _COLUMNS.fullmatch(privilege.strip())
    if match is None:
        return privilege.strip().upper()
    columns = sorted(re.split(r"\s*,\s*", match[2].strip()))
    return f"{match[1].strip().upper()} ({', '.join(columns)})"


def _list(privileges: Sequence[str]) -> str:
    return "ALL PRIVILEGES" if "ALL" in privileges else ", ".join(privileges)
