"""The interface of package managers for the handler of packages."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

from precast.resources import issues_system
from precast.resources.contract import CommandResult, ManagedNode
from precast.resources.package.ranges import Order

ABSENT = "absent"
PURGED = "purged"


class InstalledPackage(NamedTuple):
    """An installed package: its version, or `absent` if only its configuration is left."""

    version: str
    is_held: bool = False


class InstallRequest(NamedTuple):
    """What to install: a version or the newest, from a file or from the repositories."""

    name: str
    version: str | None = None
    source: str | None = None
    options: Sequence[str] = ()
    replaces_configuration: bool = False


class Manager:
    """One package manager. `installed` reads all packages at once; methods that change the machine raise if they fail."""

    name: ClassVar[str]
    # The kind of the snapshot of installed packages; managers that share a database share it.
    kind: ClassVar[str]
    program: ClassVar[str]
    # The state of a package that is not installed and has no configuration left.
    missing: ClassVar[str] = ABSENT
    can_purge: ClassVar[bool] = False
    can_hold: ClassVar[bool] = False
    needs_source: ClassVar[bool] = False
    deadline_s: ClassVar[float] = 3600.0

    def __init__(self, node: ManagedNode, command: str | None = None) -> None:
        self.node = node
        self.command = command or self.program

    def installed(self) -> Mapping[str, InstalledPackage]:
        raise NotImplementedError

    def find(self, name: str) -> InstalledPackage | None:
        return self.node.snapshot(self.kind, self.installed).get(name)

    def newest(self, name: str) -> str | None:
        """The newest version that can be installed; None if no repository offers the package."""
        raise NotImplementedError

    def versions(self, name: str) -> Sequence[str]:
        """All versions that are offered."""
        newest = self.newest(name)
        return () if newest is None else (newest,)

    def order(self) -> Order:
        """The function that compares versions."""
        raise NotImplementedError

    def is_version(self, present: str, desired: str) -> bool:
        """Whether the installed version is the desired one."""
        return present == desired

    def install(self, request: InstallRequest) -> None:
        raise NotImplementedError

    def install_all(self, requests: Sequence[InstallRequest]) -> None:
        """Install several packages, with one command if the manager can; then either all are installed or none."""
        for request in requests:
            self.install(request)

    def remove(self, name: str, options: Sequence[str]) -> None:
        raise NotImplementedError

    def purge(self, name: str, options: Sequence[str]) -> None:
        """Remove a package with its configuration, if the manager distinguishes that."""
        self.remove(name, options)

    def hold(self, name: str, is_held: bool) -> None:
        """Hold the package at its version, or release the hold."""
        raise NotImplementedError

    def reinstall(self, name: str) -> None:
        """Install an installed package again."""
        self.remove(name, ())
        self.install(InstallRequest(name))

    def version_of(self, source: str) -> str | None:
        """The version of a package file; None if it is unknown."""
        return None

    def prepare(self, answers: str) -> None:
        """Preseed the answers to a package's questions from a file."""

    def do(self, argv: Sequence[str], environment: Mapping[str, str] | None = None) -> CommandResult:
        """Run a command that changes something. Raises UnavailableError RESOURCE-150 if it fails."""
        result = self.node.run(argv, deadline_s=self.deadline_s, environment=environment)
        if not result.is_success:
            command = " ".join(argv)
            raise issues_system.COMMAND_FAILED.error(
                command=command, code=result.exit_code, output=last_lines(result.output)
            )
        return result


def last_lines(output: str) -> str:
    """The last lines of a package manager's output, which explain a failure."""
    return " ".join(line.strip() for line in output.strip().split("\n")[-6:])
