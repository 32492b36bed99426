"""pip: Python packages, for the interpreter whose pip is named with `command`."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import ClassVar

from precast.resources import issues_system
from precast.resources.package.manager import InstalledPackage, InstallRequest, Manager, last_lines
from precast.resources.package.ranges import Order, rpm_order

_QUIET = {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1", "PIP_ROOT_USER_ACTION": "ignore"}


class Pip(Manager):
    name: ClassVar[str] = "pip"
    kind: ClassVar[str] = "pip"
    program: ClassVar[str] = "pip"

    def installed(self) -> Mapping[str, InstalledPackage]:
        result = self.node.run([self.command, "list", "--format=json"], environment=_QUIET, is_split=True)
        if not result.is_success:
            raise issues_system.COMMAND_FAILED.error(
                command=f"{self.command} list", code=result.exit_code, output=last_lines(result.errors)
            )
        packages = json.loads(result.output)
        return {normalise(package["name"]): InstalledPackage(package["version"]) for package in packages}

    def find(self, name: str) -> InstalledPackage | None:
        """Find a package. One run may manage several interpreters: the snapshot has a table for each of them."""
        tables: dict[str, Mapping[str, InstalledPackage]] = {}
        known = self.node.snapshot(self.kind, lambda: tables)
        if self.command not in known:
            known[self.command] = self.installed()
        return known[self.command].get(normalise(name))

    def newest(self, name: str) -> str | None:
        return next(iter(self.versions(name)), None)

    def versions(self, name: str) -> Sequence[str]:
        """The available versions, newest first."""
        result = self.node.run([self.command, "index", "versions", name], environment=_QUIET, is_split=True)
        match = re.search(r"^Available versions: (.*)$", result.output, re.MULTILINE)
        return match[1].split(", ") if match else []

    def order(self) -> Order:
        return rpm_order

    def install(self, request: InstallRequest) -> None:
        name = request.source or (request.name if request.version is None else f"{request.name}=={request.version}")
        newest = ["--upgrade"] if request.version is None and request.source is None else []
        self.do([self.command, "install", "-q", *newest, *request.options, name], _QUIET)

    def remove(self, name: str, options: Sequence[str]) -> None:
        self.do([self.command, "uninstall", "-y", "-q", *options, name], _QUIET)


class Pip3(Pip):
    name: ClassVar[str] = "pip3"
    program: ClassVar[str] = "pip3"


def normalise(name: str) -> str:
    """Normalise a package name: Python ignores case, and treats dashes, dots and underscores as equal."""
    return re.sub(r"[-_.]+", "-", name).lower()
