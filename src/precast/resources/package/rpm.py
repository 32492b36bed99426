"""dnf, yum, zypper and rpm itself: packages in RPM's database, which all of them share."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from precast.resources import issues_system
from precast.resources.package.manager import InstalledPackage, InstallRequest, Manager, last_lines
from precast.resources.package.ranges import Order, rpm_order

_FORMAT = "%{NAME} %{EPOCHNUM} %{VERSION} %{RELEASE} %{ARCH}\\n"


class Rpm(Manager):
    name: ClassVar[str] = "rpm"
    kind: ClassVar[str] = "rpm"
    program: ClassVar[str] = "rpm"
    needs_source: ClassVar[bool] = True

    def installed(self) -> Mapping[str, InstalledPackage]:
        argv = ["rpm", "-qa", "--nosignature", "--nodigest", "--qf", _FORMAT]
        result = self.node.run(argv, is_split=True)
        if not result.is_success:
            raise issues_system.COMMAND_FAILED.error(
                command="rpm -qa", code=result.exit_code, output=last_lines(result.errors)
            )
        return parse_list(result.output)

    def newest(self, name: str) -> str | None:
        return None

    def order(self) -> Order:
        return rpm_order

    def is_version(self, present: str, desired: str) -> bool:
        """A desired version may leave out epoch and release."""
        return rpm_order(present, desired) == 0

    def install(self, request: InstallRequest) -> None:
        assert request.source is not None
        self.do([self.command, "-U", "--oldpackage", *request.options, request.source])

    def remove(self, name: str, options: Sequence[str]) -> None:
        self.do(["rpm", "-e", *options, name])

    def version_of(self, source: str) -> str | None:
        result = self.node.run(["rpm", "-qp", "--nosignature", "--qf", _FORMAT, source], is_split=True)
        packages = parse_list(result.output).values() if result.is_success else ()
        return next((package.version for package in packages), None)


class Dnf(Rpm):
    name: ClassVar[str] = "dnf"
    program: ClassVar[str] = "dnf"
    can_purge: ClassVar[bool] = True
    needs_source: ClassVar[bool] = False

    def newest(self, name: str) -> str | None:
        """The version that an update would install; the installed version, if no update is offered."""
        updates = self.node.snapshot(f"{self.name} updates", self._updates)
        update = updates.get(name)
        if update is not None:
            return update
        present = self.find(name)
        return None if present is None else present.version

    def _updates(self) -> Mapping[str, str]:
        result = self.node.run([self.command, "-q", "check-update"], deadline_s=self.deadline_s, is_split=True)
        if result.exit_code not in (0, 100):
            raise issues_system.COMMAND_FAILED.error(
                command=f"{self.command} check-update", code=result.exit_code, output=last_lines(result.errors)
            )
        return parse_updates(result.output)

    def versions(self, name: str) -> Sequence[str]:
        result = self.node.run([self.command, "-q", "list", "--showduplicates", name], is_split=True)
        rows = [line.split() for line in result.output.splitlines()]
        return [row[1] for row in rows if len(row) == 3 and row[0].rpartition(".")[0] == name]

    def install(self, request: InstallRequest) -> None:
        present = self.find(request.name)
        verb = "install"
        if request.version is not None and present is not None and rpm_order(request.version, present.version) < 0:
            verb = "downgrade"
        elif request.version is None and present is not None and request.source is None:
            verb = "upgrade"
        what = request.source or (request.name if request.version is None else f"{request.name}-{request.version}")
        self.do([self.command, "-d", "0", "-e", "1", "-y", *request.options, verb, what])

    def purge(self, name: str, options: Sequence[str]) -> None:
        self.do([self.command, "-y", *options, "remove", name])

    def reinstall(self, name: str) -> None:
        self.do([self.command, "-y", "reinstall", name])


class Yum(Dnf):
    name: ClassVar[str] = "yum"
    program: ClassVar[str] = "yum"


class Zypper(Rpm):
    name: ClassVar[str] = "zypper"
    program: ClassVar[str] = "zypper"
    needs_source: ClassVar[bool] = False

    def newest(self, name: str) -> str | None:
        updates = self.node.snapshot("zypper updates", self._updates)
        present = self.find(name)
        return updates.get(name) or (None if present is None else present.version)

    def _updates(self) -> Mapping[str, str]:
        return parse_zypper(self.do([*self._begin(), "list-updates", "--all"]).output)

    def versions(self, name: str) -> Sequence[str]:
        result = self.node.run([*self._begin(), "search", "--match-exact", "--details", "--type", "package", name])
        rows = [[cell.strip() for cell in line.split("|")] for line in result.output.splitlines()]
        return [row[3] for row in rows if len(row) >= 5 and row[1] == name]

    def install(self, request: InstallRequest) -> None:
        what = request.source or (request.name if request.version is None else f"{request.name}-{request.version}")
        agreed = ["--auto-agree-with-licenses", "--no-confirm"]
        older = ["--oldpackage"] if request.version is not None else []
        self.do([*self._begin(), "install", *agreed, *older, *request.options, what])

    def remove(self, name: str, options: Sequence[str]) -> None:
        self.do([*self._begin(), "remove", "--no-confirm", *options, name])

    def reinstall(self, name: str) -> None:
        self.do([*self._begin(), "install", "--force", "--no-confirm", name])

    def _begin(self) -> list[str]:
        return [self.command, "--quiet", "--non-interactive"]


def parse_list(text: str) -> Mapping[str, InstalledPackage]:
    """Parse lines of name, epoch, version, release, architecture. Of several versions (kernels) the newest is used."""
    packages: dict[str, InstalledPackage] = {}
    for line in text.splitlines():
        fields = line.split()
        if len(fields) != 5 or fields[0] == "gpg-pubkey":
            continue
        name, epoch, version, release, architecture = fields
        full = f"{version}-{release}" if epoch == "0" else f"{epoch}:{version}-{release}"
        for key in (name, f"{name}.{architecture}"):
            if key not in packages or rpm_order(full, packages[key].version) > 0:
                packages[key] = InstalledPackage(full)
    return packages


def parse_updates(text: str) -> Mapping[str, str]:
    """Parse the output of `dnf check-update`: name.architecture, version, repository; a long line continues on the next."""
    updates: dict[str, str] = {}
    words: list[str] = []
    for line in text.splitlines():
        if line.startswith(("Obsoleting", "Security:")):
            break
        words = [*words, *line.split()] if line[:1].isspace() else line.split()
        if len(words) == 3 and "." in words[0]:
            name = words[0].rpartition(".")[0]
            updates[name] = updates[words[0]] = words[1].removeprefix("0:")
    return updates


def parse_zypper(text: str) -> Mapping[str, str]:
    """Parse the table of `zypper list-updates`: name in the third column, available version in the fifth."""
    rows = [[cell.strip() for cell in line.split("|")] for line in text.splitlines()]
    return {row[2]: row[4] for row in rows if len(row) >= 6 and row[2] != "Name"}
