"""Reads requirements.lock: every locked package with its hashes, its marker and what needs it, and the set of packages of each install."""

import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PROJECT = "precast"
# What is installed where: on a node, and on a server. A server's packages include those of a node.
INSTALLS = ("agent", "server")
_PACKAGE = re.compile(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)(?: ; ([^\\]+?))?(?: \\)?$")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_NEEDED_BY = re.compile(r"^    # (?:via )?(?:  )?([A-Za-z0-9._-]+)(?: \(.*\))?$")


class LockedPackage(NamedTuple):
    """A package of the lock file. `needed_by` are the names of the packages that require it."""

    name: str
    version: str
    marker: str
    hashes: tuple[str, ...]
    needed_by: tuple[str, ...]

    @property
    def purl(self) -> str:
        return f"pkg:pypi/{self.name}@{self.version}"


def read_lock(path: Path = ROOT / "requirements.lock") -> dict[str, LockedPackage]:
    """Every package by its name."""
    packages: dict[str, LockedPackage] = {}
    name = ""
    for line in path.read_text().splitlines():
        if found := _PACKAGE.match(line):
            name = normalise(found[1])
            packages[name] = LockedPackage(name, found[2], found[3] or "", (), ())
        elif name and (hashed := _HASH.search(line)):
            packages[name] = packages[name]._replace(hashes=(*packages[name].hashes, hashed[1]))
        elif name and (needing := _NEEDED_BY.match(line)) and needing[1] != "via":
            parents = (*packages[name].needed_by, normalise(needing[1]))
            packages[name] = packages[name]._replace(needed_by=parents)
    return packages


def select(install: str, packages: dict[str, LockedPackage], project: Path = ROOT / "pyproject.toml") -> list[str]:
    """The names of the packages of an install, sorted: what pyproject.toml requires, and what that requires."""
    chosen, waiting = set(), roots(install, project)
    while waiting:
        name = waiting.pop()
        if name not in chosen:
            chosen.add(name)
            waiting += requirements(name, packages)
    return sorted(chosen)


def requirements(name: str, packages: dict[str, LockedPackage]) -> list[str]:
    """What a package requires, sorted."""
    return sorted(other.name for other in packages.values() if name in other.needed_by)


def roots(install: str, project: Path = ROOT / "pyproject.toml") -> list[str]:
    """What the project itself requires for an install, sorted."""
    declared = tomllib.loads(project.read_text())["project"]
    extra: Iterable[str] = declared["optional-dependencies"]["server"] if install == "server" else ()
    return sorted(map(requirement_name, [*declared["dependencies"], *extra]))


def requirement_name(line: str) -> str:
    found = re.match(r"[A-Za-z0-9._-]+", line)
    assert found is not None, f"{line} names a package"
    return normalise(found[0])


def normalise(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
