"""pip: Python packages, for the interpreter whose pip is named with `command`."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import ClassVar

from precast.resources import issues_system
from precast.resources.package.manager import Installed, Manager, Request, last_words
from precast.resources.package.ranges import Order, rpm_order

_QUIET = {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1", "PIP_ROOT_USER_ACTION": "ignore"}


class Pip(Manager):
    name: ClassVar[str] = "pip"
    kind: ClassVar[str] = "pip"
    program: ClassVar[str] = "pip"

    def installed(self) -> Mapping[str, Installed]:
        done = self.node.run([self.command, "list", "--format=json"], environment=_QUIET, is_split=True)
        if not done.is_success:
            raise issues_system.COMMAND_FAILED.error(
                command=f"{self.command} list", code=done.exit_code, output=last_words(done.errors)
            )
        return {normal(each["name"]): Installed(each["version"]) for each in json.loads(done.output)}

    def find(self, name: str) -> Installed | None:
        """Several interpreters may be managed in one run: each has a snapshot of its own inside the one of the kind."""
        tables: dict[str, Mapping[str, Installed]] = {}
        known = self.node.snapshot(self.kind, lambda: tables)
        if self.command not in known:
            known[self.command] = self.installed()
        return known[self.command].get(normal(name))

    def newest(self, name: str) -> str | None:
        return next(iter(self.versions(name)), None)

    def versions(self, name: str) -> Sequence[str]:
        """Newest first."""
        done = self.node.run([self.command, "index", "versions", name], environment=_QUIET, is_split=True)
        found = re.search(r"^Available versions: (.*)$", done.output, re.MULTILINE)
        return found[1].split(", ") if found else []

    def order(self) -> Order:
        return rpm_order

    def install(self, request: Request) -> None:
        name = request.source or (request.name if request.version is None else f"{request.name}=={request.version}")
        newest = ["--upgrade"] if request.version is None and request.source is None else []
        self.do([self.command, "install", "-q", *newest, *request.options, name], _QUIET)

    def remove(self, name: str, options: Sequence[str]) -> None:
        self.do([self.command, "uninstall", "-y", "-q", *options, name], _QUIET)


class Pip3(Pip):
    name: ClassVar[str] = "pip3"
    program: ClassVar[str] = "pip3"


def normal(name: str) -> str:
    """Python takes letters of both cases, and dashes, dots and underscores, for the same."""
    return re.sub(r"[-_.]+", "-", name).lower()
