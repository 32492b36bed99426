"""apk: packages of Alpine, read from its database as a whole."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from precast.resources.package.manager import InstalledPackage, InstallRequest, Manager
from precast.resources.package.ranges import Order, debian_order
from precast.resources.text_files import read_text

DATABASES = ("/lib/apk/db/installed", "/usr/lib/apk/db/installed")


class Apk(Manager):
    name: ClassVar[str] = "apk"
    kind: ClassVar[str] = "apk"
    program: ClassVar[str] = "apk"

    def installed(self) -> Mapping[str, InstalledPackage]:
        return parse_database("".join(read_text(self.node, path) for path in DATABASES))

    def newest(self, name: str) -> str | None:
        return next(iter(self.versions(name)), None)

    def versions(self, name: str) -> Sequence[str]:
        """The available versions, newest first, as `apk policy` lists them."""
        return parse_policy(self.node.run([self.command, "policy", name]).output)

    def order(self) -> Order:
        return debian_order

    def install(self, request: InstallRequest) -> None:
        what = request.source or (request.name if request.version is None else f"{request.name}={request.version}")
        self.do([self.command, "add", "--no-progress", "--upgrade", *request.options, what])

    def remove(self, name: str, options: Sequence[str]) -> None:
        self.do([self.command, "del", "--no-progress", *options, name])


def parse_database(text: str) -> Mapping[str, InstalledPackage]:
    """Parse paragraphs with the name in a line `P:` and the version in a line `V:`."""
    packages: dict[str, InstalledPackage] = {}
    name = ""
    for line in text.splitlines():
        if line.startswith("P:"):
            name = line[2:]
        elif line.startswith("V:") and name:
            packages[name] = InstalledPackage(line[2:])
        elif not line:
            name = ""
    return packages


def parse_policy(text: str) -> list[str]:
    """Parse the versions, which are on lines of their own that end with a colon; the repositories follow."""
    return [line.strip().rstrip(":") for line in text.splitlines() if line.startswith("  ") and line.endswith(":")]
