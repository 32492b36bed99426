"""Machines made of files: a root directory to read facts from, and a kernel with scripted answers."""

from collections.abc import Mapping
from pathlib import Path

from precast.agent.facts.machine import Account, Address, Link, Machine, NoKernel, Usage

DEBIAN = {
    "/etc/os-release": (
        'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nNAME="Debian GNU/Linux"\nVERSION_ID="12"\n'
        'VERSION="12 (bookworm)"\nVERSION_CODENAME=bookworm\nID=debian\n'
    ),
    "/etc/debian_version": "12.08\n",
}
UBUNTU = {
    "/etc/os-release": (
        'PRETTY_NAME="Ubuntu 22.04.4 LTS"\nNAME="Ubuntu"\nVERSION_ID="22.04"\nVERSION="22.04.4 LTS (Jammy Jellyfish)"\n'
        "VERSION_CODENAME=jammy\nID=ubuntu\nID_LIKE=debian\n"
    ),
    "/etc/debian_version": "bookworm/sid\n",
}
ROCKY = {
    "/etc/os-release": (
        'NAME="Rocky Linux"\nVERSION="9.3 (Blue Onyx)"\nID="rocky"\nID_LIKE="rhel centos fedora"\nVERSION_ID="9.3"\n'
        'PRETTY_NAME="Rocky Linux 9.3 (Blue Onyx)"\n'
    ),
    "/etc/redhat-release": "Rocky Linux release 9.3 (Blue Onyx)\n",
}
RHEL = {
    "/etc/os-release": (
        'NAME="Red Hat Enterprise Linux"\nVERSION="9.4 (Plow)"\nID="rhel"\nID_LIKE="fedora"\nVERSION_ID="9.4"\n'
        'PRETTY_NAME="Red Hat Enterprise Linux 9.4 (Plow)"\n'
    ),
    "/etc/redhat-release": "Red Hat Enterprise Linux release 9.4 (Plow)\n",
}
ALPINE = {
    "/etc/os-release": (
        'NAME="Alpine Linux"\nID=alpine\nVERSION_ID=3.19.1\nPRETTY_NAME="Alpine Linux v3.19"\n'
        'HOME_URL="https://alpinelinux.org/"\n'
    ),
    "/etc/alpine-release": "3.19.1\n",
}


class FakeKernel(NoKernel):
    """A kernel with these answers; the others are unknown."""

    def __init__(
        self,
        *,
        hardware: str | None = "x86_64",
        links: list[Link] | None = None,
        addresses: list[Address] | None = None,
        usages: Mapping[str, Usage] | None = None,
        account: Account | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self._hardware = hardware
        self._links = links
        self._addresses = addresses
        self._usages = usages or {}
        self._account = account
        self._variables = variables or {}

    def hardware(self) -> str | None:
        return self._hardware

    def links(self) -> list[Link] | None:
        return self._links

    def addresses(self) -> list[Address] | None:
        return self._addresses

    def usage(self, path: str, filesystem: str) -> Usage | None:
        return self._usages.get(path)

    def account(self) -> Account | None:
        return self._account

    def variable(self, name: str) -> str | None:
        return self._variables.get(name)


def fill(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files under a root; a name that ends in / is a directory."""
    for name, content in files.items():
        place = root / name.strip("/")
        if name.endswith("/"):
            place.mkdir(parents=True, exist_ok=True)
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


def machine(root: Path, *parts: Mapping[str, str | bytes], kernel: NoKernel | None = None) -> Machine:
    for files in parts:
        fill(root, files)
    return Machine(root, kernel or NoKernel())
