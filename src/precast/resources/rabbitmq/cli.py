"""Runs RabbitMQ's command line. A query is repeated while it fails, because a server that was just started answers after some time."""

import re
import time
from typing import ClassVar

from precast.resources import issues, issues_system
from precast.resources.contract import CommandResult, DesiredResource, ManagedNode, State
from precast.resources.properties import ABSENT, PRESENT, PropertyHandler, invalid_value, refuse_option

# As in the module; older systems have the programs only in the last directory.
_PATH = "/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin:/usr/lib/rabbitmq/bin"
# The module sets HOME to /tmp, where any user could leave a `.erlang` that Erlang runs.
_ENVIRONMENT = {"HOME": "/root", "PATH": _PATH}
_TRIES = 30
_PAUSE_S = 6
_QUERY_S = 20


class NamedHandler(PropertyHandler):
    """A resource of RabbitMQ that has only a name, and is present if it is not said otherwise."""

    locks: ClassVar[tuple[str, ...]] = ("rabbitmq",)
    invalidates: ClassVar[tuple[str, ...] | None] = ()
    can_be_purged: ClassVar[bool] = True

    def __init__(self, resource: DesiredResource, node: ManagedNode) -> None:
        if node.root and not node.is_chroot:
            raise issues.NOT_UNDER_ROOT.error(type=resource.type, root=node.root)
        super().__init__(resource, node)
        self.ensure = self.ensure or PRESENT
        refuse_option(resource, self.name)
        if not re.fullmatch(r"\S+", self.name):
            raise invalid_value(resource, "name", self.name, "it is one word")

    @property
    def is_slow_to_read(self) -> bool:
        return True

    def list_names(self) -> list[str]:
        raise NotImplementedError

    def read(self) -> State:
        return {"ensure": PRESENT if self.name in self.list_names() else ABSENT}


def query(node: ManagedNode, *words: str) -> str:
    """The output of a command that changes nothing. Raises UnavailableError RESOURCE-150 if it keeps failing."""
    for left in range(_TRIES - 1, -1, -1):
        result = node.run(words, environment=_ENVIRONMENT, deadline_s=_QUERY_S, is_split=True)
        if result.is_success:
            return result.output
        if left:
            time.sleep(_PAUSE_S)
    raise _failure(words, result)


def change(node: ManagedNode, *words: str, umask: int | None = None) -> None:
    """Run a command. Raises UnavailableError RESOURCE-150 if it fails."""
    result = node.run(words, environment=_ENVIRONMENT, umask=umask, is_split=True)
    if not result.is_success:
        raise _failure(words, result)


def _failure(words: tuple[str, ...], result: CommandResult) -> Exception:
    text = " ".join(f"{result.output} {result.errors}".split())
    return issues_system.COMMAND_FAILED.error(command=" ".join(words), code=result.exit_code, output=text)
