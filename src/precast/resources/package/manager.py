"""What a package manager is to the handler of packages."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

from precast.resources import issues_system
from precast.resources.contract import Completed, Node
from precast.resources.package.ranges import Order

ABSENT = "absent"
PURGED = "purged"


class Installed(NamedTuple):
    """A package that is there: its version, or `absent` if only its configuration is left."""

    version: str
    is_held: bool = False


class Request(NamedTuple):
    """What to install: a version or the newest, from a file or from the repositories."""

    name: str
    version: str | None = None
    source: str | None = None
    options: Sequence[str] = ()
    replaces_configuration: bool = False


class Manager:
    """One package manager. `installed` reads the whole machine at once; everything that changes it raises if it fails."""

    name: ClassVar[str]
    # Snapshots of this kind hold what is installed; several managers over one database share it.
    kind: ClassVar[str]
    program: ClassVar[str]
    # What is said of a package that is not there at all.
    missing: ClassVar[str] = ABSENT
    can_purge: ClassVar[bool] = False
    can_hold: ClassVar[bool] = False
    needs_source: ClassVar[bool] = False
    deadline_s: ClassVar[float] = 3600.0

    def __init__(self, node: Node, command: str | None = None) -> None:
        self.node = node
        self.command = command or self.program

    def installed(self) -> Mapping[str, Installed]:
        raise NotImplementedError

    def find(self, name: str) -> Installed | None:
        return self.node.snapshot(self.kind, self.installed).get(name)

    def newest(self, name: str) -> str | None:
        """The version that installing the newest would give; None if nobody offers the package."""
        raise NotImplementedError

    def versions(self, name: str) -> Sequence[str]:
        """All versions that are offered."""
        newest = self.newest(name)
        return () if newest is None else (newest,)

    def order(self) -> Order:
        """How versions are ordered."""
        raise NotImplementedError

    def is_version(self, present: str, wanted: str) -> bool:
        """Whether the version that is there is the wanted one."""
        return present == wanted

    def install(self, request: Request) -> None:
        raise NotImplementedError

    def install_all(self, requests: Sequence[Request]) -> None:
        """Install several, with one command where the manager can; then it is all of them or none."""
        for request in requests:
            self.install(request)

    def remove(self, name: str, options: Sequence[str]) -> None:
        raise NotImplementedError

    def purge(self, name: str, options: Sequence[str]) -> None:
        """Remove it with its configuration, where there is such a thing."""
        self.remove(name, options)

    def hold(self, name: str, is_held: bool) -> None:
        """Keep the package at its version, or let it go."""
        raise NotImplementedError

    def reinstall(self, name: str) -> None:
        """Install again what is there."""
        self.remove(name, ())
        self.install(Request(name))

    def version_of(self, source: str) -> str | None:
        """The version of a package file; None if it cannot be told."""
        return None

    def prepare(self, answers: str) -> None:
        """Take the answers to a package's questions from a file."""

    def do(self, argv: Sequence[str], environment: Mapping[str, str] | None = None) -> Completed:
        """Run a command that changes something. Raises UnavailableError RESOURCE-150 if it fails."""
        done = self.node.run(argv, deadline_s=self.deadline_s, environment=environment)
        if not done.is_success:
            command = " ".join(argv)
            raise issues_system.COMMAND_FAILED.error(
                command=command, code=done.exit_code, output=last_words(done.output)
            )
        return done


def last_words(output: str) -> str:
    """What a package manager said at the end: that is where it says why."""
    return " ".join(line.strip() for line in output.strip().split("\n")[-6:])
