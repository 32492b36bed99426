"""rabbitmq_vhost: a virtual host of RabbitMQ."""

import re
from collections.abc import Iterable
from typing import ClassVar

from precast.resources.contract import Change, Instance, ManagedNode
from precast.resources.properties import ABSENT, PRESENT
from precast.resources.rabbitmq import cli

_VERSION = re.compile(r'(?:\{rabbit,"RabbitMQ","|RabbitMQ version: )([\d.]+)')
# Since this version, lists have headers.
_WITH_HEADERS = (3, 7, 9)


class RabbitmqVhost(cli.NamedHandler):
    providers: ClassVar[tuple[str, ...]] = ("rabbitmqctl",)

    def list_names(self) -> list[str]:
        return _list_names(self.node)

    def apply(self, change: Change) -> None:
        cli.change(self.node, "rabbitmqctl", "delete_vhost" if change.desired == ABSENT else "add_vhost", self.name)

    @classmethod
    def instances(cls, node: ManagedNode) -> Iterable[Instance]:
        return [Instance(name, {"ensure": PRESENT}) for name in _list_names(node) if name]


def _list_names(node: ManagedNode) -> list[str]:
    match = _VERSION.search(cli.query(node, "rabbitmqctl", "-q", "status"))
    version = tuple(map(int, match[1].strip(".").split("."))) if match else ()
    options = ["-q", *(["--no-table-headers"] if version >= _WITH_HEADERS else [])]
    return cli.query(node, "rabbitmqctl", "list_vhosts", *options).splitlines()
