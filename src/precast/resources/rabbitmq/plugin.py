"""rabbitmq_plugin: a plug-in that RabbitMQ has enabled."""

import re
from collections.abc import Iterable
from typing import ClassVar

from precast.resources.contract import Change, DesiredResource, Instance, ManagedNode
from precast.resources.properties import ABSENT, PRESENT, invalid_value
from precast.resources.rabbitmq import cli


class RabbitmqPlugin(cli.NamedHandler):
    providers: ClassVar[tuple[str, ...]] = ("rabbitmqplugins",)

    def __init__(self, resource: DesiredResource, node: ManagedNode) -> None:
        super().__init__(resource, node)
        umask = str(resource.get("umask", "0022"))
        if not re.fullmatch(r"0?[0-7]{1,3}", umask):
            raise invalid_value(resource, "umask", umask, "it is an octal number")
        self._umask = int(umask, 8)

    def list_names(self) -> list[str]:
        return cli.query(self.node, "rabbitmq-plugins", "list", "-E", "-m").splitlines()

    def apply(self, change: Change) -> None:
        if change.desired == ABSENT:
            cli.change(self.node, "rabbitmq-plugins", "disable", self.name)
        else:
            cli.change(self.node, "rabbitmq-plugins", "enable", self.name, umask=self._umask)

    @classmethod
    def instances(cls, node: ManagedNode) -> Iterable[Instance]:
        names = cli.query(node, "rabbitmq-plugins", "list", "-E", "-m", "-q").splitlines()
        return [Instance(name, {"ensure": PRESENT}) for name in names if name]
