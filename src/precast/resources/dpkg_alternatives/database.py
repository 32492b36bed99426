"""What dpkg's alternatives are: read from its own files, and changed by its program `update-alternatives`."""

import os
import re
from typing import Any, ClassVar, Final, NamedTuple

from precast.resources import commands, issues, issues_system, properties
from precast.resources.contract import DesiredResource, Handler, ManagedNode
from precast.resources.files import safe_reads
from precast.resources.text_files import read_lines

DATABASE: Final = "/var/lib/dpkg/alternatives"
_PROGRAM: Final = "update-alternatives"
NAME: Final = re.compile(r"[^/\s-][^/\s]*")


class Group(NamedTuple):
    """One generic name: its mode, its link, and the priority of each program that it may lead to."""

    mode: str
    link: str
    priorities: dict[str, str]


def read_group(node: ManagedNode, name: str) -> Group | None:
    """What is registered for a name; None if nothing is."""
    lines = read_lines(node, f"{DATABASE}/{name}").lines if NAME.fullmatch(name) else []
    if len(lines) < 3:
        return None
    end = lines.index("", 2) if "" in lines[2:] else len(lines)
    slaves = (end - 2) // 2
    rest = lines[end + 1 :]
    step = 2 + slaves
    choices = {rest[at]: rest[at + 1] for at in range(0, len(rest) - 1, step) if rest[at]}
    return Group(lines[0], lines[1], choices)


class DpkgHandler(Handler):
    """What both types share: the program that makes the changes."""

    locks: ClassVar[tuple[str, ...]] = ("alternatives",)

    def __init__(self, resource: DesiredResource, node: ManagedNode) -> None:
        super().__init__(resource, node)
        if node.root and not node.is_chroot:
            raise issues.NOT_UNDER_ROOT.error(type=resource.type, root=node.root)

    def update(self, *arguments: str) -> None:
        result = self.node.run([_PROGRAM, *arguments])
        if not result.is_success:
            output = " ".join(result.output.split())
            raise issues_system.COMMAND_FAILED.error(
                command=f"{_PROGRAM} {' '.join(arguments)}", code=result.exit_code, output=output
            )

    def check_database(self) -> None:
        """Raises InputError RESOURCE-009 on a machine whose alternatives are not dpkg's."""
        if not safe_reads.is_directory(safe_reads.node_parents(self.node), DATABASE) or not commands.has_program(
            _PROGRAM, self.node.root
        ):
            raise issues.NO_PROVIDER.error(type=self.resource.type, provider="dpkg", providers="none")


def absolute(resource: DesiredResource, name: str, value: Any) -> str:
    if not str(value).startswith("/"):
        raise properties.invalid_value(resource, name, value, "it is an absolute path")
    return str(value)


def target(node: ManagedNode, name: str) -> str | None:
    """The program that a name leads to now."""
    with safe_reads.find_entry(safe_reads.node_parents(node), f"/etc/alternatives/{name}", is_followed=False) as found:
        try:
            return os.readlink(found[1], dir_fd=found[0])
        except OSError:
            return None
