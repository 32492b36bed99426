"""apt and dpkg: packages of the Debian family.

Installed packages are read from dpkg's own database as a whole: that is as fast as one call of dpkg-query, and starts no process. While
dpkg has updates that it has not merged into that file yet (it was killed, or is running), dpkg-query reads them.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from precast.resources.contract import ManagedNode
from precast.resources.package.manager import ABSENT, PURGED, InstalledPackage, InstallRequest, Manager
from precast.resources.package.ranges import Order, debian_order
from precast.resources.properties import is_option
from precast.resources.text_files import read_text

STATUS = "/var/lib/dpkg/status"
UPDATES = "/var/lib/dpkg/updates"
# How long apt waits for a lock that another process holds (unattended upgrades).
LOCK_S = 120
_QUIET = {
    "DEBIAN_FRONTEND": "noninteractive",
    "APT_LISTBUGS_FRONTEND": "none",
    "APT_LISTCHANGES_FRONTEND": "none",
}
_FORMAT = "Package: ${Package}\nStatus: ${Status}\nVersion: ${Version}\nArchitecture: ${Architecture}\n\n"


class Dpkg(Manager):
    name: ClassVar[str] = "dpkg"
    kind: ClassVar[str] = "dpkg"
    program: ClassVar[str] = "dpkg"
    missing: ClassVar[str] = PURGED
    can_purge: ClassVar[bool] = True
    can_hold: ClassVar[bool] = True
    needs_source: ClassVar[bool] = True

    def installed(self) -> Mapping[str, InstalledPackage]:
        return parse_status(_status(self.node))

    def newest(self, name: str) -> str | None:
        return None

    def order(self) -> Order:
        return debian_order

    def install(self, request: InstallRequest) -> None:
        assert request.source is not None
        self.do([self.command, _configuration_option(request), "-i", *request.options, request.source], _QUIET)

    def remove(self, name: str, options: Sequence[str]) -> None:
        self.do([self.command, "-r", *options, name], _QUIET)

    def purge(self, name: str, options: Sequence[str]) -> None:
        self.do([self.command, "--purge", *options, name], _QUIET)

    def hold(self, name: str, is_held: bool) -> None:
        self.do(["apt-mark", "-q", "hold" if is_held else "unhold", name])

    def reinstall(self, name: str) -> None:
        self.do(["apt-get", "-q", "-y", "--reinstall", "install", name], _QUIET)

    def version_of(self, source: str) -> str | None:
        result = self.node.run(["dpkg-deb", "-f", source, "Version"])
        return result.output.strip() if result.is_success else None

    def prepare(self, answers: str) -> None:
        self.do(["debconf-set-selections", answers], _QUIET)


class Apt(Dpkg):
    name: ClassVar[str] = "apt"
    program: ClassVar[str] = "apt-get"
    needs_source: ClassVar[bool] = False

    def newest(self, name: str) -> str | None:
        candidate = self.node.snapshot("apt", self._candidates).get(name)
        if candidate is not None:
            return candidate
        # apt omits the machine's own architecture: it lists libc6:amd64 as libc6.
        answer = self._policy([name])
        return answer.get(name) or answer.get(name.partition(":")[0])

    def _candidates(self) -> Mapping[str, str]:
        """The candidate versions of all packages with ensure => latest in this catalog, from one command.

        Resources that their own handler refuses are among them: an option of apt-cache could run any program.
        """
        packages = [package for package in self.node.resources("package") if package.get("ensure") == "latest"]
        own = [package for package in packages if package.get("provider", self.name) == self.name]
        names = [str(package.get("name", package.title)) for package in own]
        return self._policy([name for name in names if not is_option(name)])

    def _policy(self, names: Sequence[str]) -> Mapping[str, str]:
        return parse_policy(self.node.run(["apt-cache", "policy", *names]).output) if names else {}

    def versions(self, name: str) -> Sequence[str]:
        rows = [line.split("|") for line in self.node.run(["apt-cache", "madison", name]).output.splitlines()]
        return [row[1].strip() for row in rows if len(row) == 3]

    def install(self, request: InstallRequest) -> None:
        self.install_all([request])

    def install_all(self, requests: Sequence[InstallRequest]) -> None:
        """Install all with one command, with the options of the first request."""
        first = requests[0]
        argv = self._begin(f"DPkg::Options::={_configuration_option(first)}")
        if any(request.version is not None for request in requests):
            # A requested version is installed whether it is older or newer, held or not.
            argv += ["--allow-downgrades", "--allow-change-held-packages"]
        self.do([*argv, *first.options, "install", *map(_target, requests)], _QUIET)

    def remove(self, name: str, options: Sequence[str]) -> None:
        self.do([*self._begin(), *options, "remove", name], _QUIET)

    def purge(self, name: str, options: Sequence[str]) -> None:
        self.do([*self._begin(), *options, "remove", "--purge", name], _QUIET)

    def _begin(self, *settings: str) -> list[str]:
        argv = [self.command, "-q", "-y"]
        for setting in (f"DPkg::Lock::Timeout={LOCK_S}", *settings):
            argv += ["-o", setting]
        return argv


def _target(request: InstallRequest) -> str:
    if request.version is not None:
        return f"{request.name}={request.version}"
    return request.source or request.name


def _configuration_option(request: InstallRequest) -> str:
    return "--force-confnew" if request.replaces_configuration else "--force-confold"


def _status(node: ManagedNode) -> str:
    try:
        has_updates = any(Path(node.path(UPDATES)).iterdir())
    except FileNotFoundError:
        has_updates = False
    if has_updates:
        return node.run(["dpkg-query", "-W", "-f", _FORMAT]).output
    return read_text(node, STATUS)


def parse_status(text: str) -> Mapping[str, InstalledPackage]:
    """Packages by name, and by name:architecture, without those that were purged."""
    packages: dict[str, InstalledPackage] = {}
    for part in text.split("\n\n"):
        paragraph = f"\n{part}\n"
        name, status = _field(paragraph, "\nPackage: "), _field(paragraph, "\nStatus: ")
        words = status.split()
        if not name or len(words) != 3 or words[2] == "not-installed":
            continue
        version = ABSENT if words[2] == "config-files" else _field(paragraph, "\nVersion: ")
        package = InstalledPackage(version, words[0] == "hold")
        packages[f"{name}:{_field(paragraph, chr(10) + 'Architecture: ')}"] = package
        if name not in packages or packages[name].version == ABSENT:
            packages[name] = package
    return packages


def _field(paragraph: str, name: str) -> str:
    at = paragraph.find(name)
    return "" if at < 0 else paragraph[at + len(name) : paragraph.index("\n", at + 1)]


def parse_policy(text: str) -> Mapping[str, str]:
    """The candidate versions that `apt-cache policy` lists."""
    candidates: dict[str, str] = {}
    name = ""
    for line in text.splitlines():
        if line and not line[0].isspace():
            name = line.rstrip(":")
        elif line.startswith("  Candidate: ") and not line.endswith("(none)"):
            candidates[name] = line.removeprefix("  Candidate: ")
    return candidates
