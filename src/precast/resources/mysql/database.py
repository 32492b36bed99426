"""mysql_database: a database with its character set and collation."""

import re
from collections.abc import Iterable
from typing import Any, ClassVar

from precast.resources.contract import Change, DesiredResource, Instance, ManagedNode, State
from precast.resources.mysql import client
from precast.resources.properties import ABSENT, PRESENT, PropertyHandler, invalid_value

_DEFAULTS = {"charset": "utf8", "collate": "utf8_general_ci"}
# Newer servers say utf8mb3 for utf8.
_OLD_UTF8 = re.compile(r"^utf8(?=_|$)")


class MysqlDatabase(PropertyHandler):
    order: ClassVar[tuple[str, ...]] = ("charset", "collate")
    can_be_purged: ClassVar[bool] = True
    providers: ClassVar[tuple[str, ...]] = ("mysql",)
    locks: ClassVar[tuple[str, ...]] = ("mysql",)
    invalidates: ClassVar[tuple[str, ...] | None] = (client.DATABASES,)

    def __init__(self, resource: DesiredResource, node: ManagedNode) -> None:
        client.require_system(resource, node)
        super().__init__(resource, node)
        self.desired = {**_DEFAULTS, **self.desired}
        self.ensure = self.ensure or PRESENT

    @property
    def is_slow_to_read(self) -> bool:
        return True

    def munge(self, name: str, value: Any) -> str:
        if not re.fullmatch(r"\w+", str(value)):
            raise invalid_value(self.resource, name, value, "it is one word")
        return str(value)

    def read(self) -> State:
        return _read_all(self.node).get(self.name, {"ensure": ABSENT})

    def is_in_sync(self, name: str, previous: Any, desired: Any) -> bool:
        return bool(_modern(previous) == _modern(desired))

    def apply(self, change: Change) -> None:
        name = client.quote_name(self.name)
        if change.property != "ensure":
            word = "CHARACTER SET" if change.property == "charset" else "COLLATE"
            sql = f"ALTER DATABASE {name} {word} {change.desired}"
        elif change.desired == ABSENT:
            sql = f"DROP DATABASE IF EXISTS {name}"
        else:
            charset, collate = self.desired["charset"], self.desired["collate"]
            sql = f"CREATE DATABASE IF NOT EXISTS {name} CHARACTER SET {charset} COLLATE {collate}"
        client.run(self.node, sql)

    @classmethod
    def instances(cls, node: ManagedNode) -> Iterable[Instance]:
        return [Instance(name, state) for name, state in _read_all(node).items()]


def _read_all(node: ManagedNode) -> dict[str, State]:
    return node.snapshot(client.DATABASES, lambda: _read(node))


def _read(node: ManagedNode) -> dict[str, State]:
    columns = "SCHEMA_NAME, DEFAULT_CHARACTER_SET_NAME, DEFAULT_COLLATION_NAME"
    rows = client.run(node, f"SELECT {columns} FROM information_schema.SCHEMATA")  # noqa: S608 - constants
    return {name: {"ensure": PRESENT, "charset": charset, "collate": collate} for name, charset, collate in rows}


def _modern(value: str) -> str:
    return _OLD_UTF8.sub("utf8mb3", value)
