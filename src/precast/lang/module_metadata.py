"""What a module says of itself in metadata.json, and whether the modules of an environment have what they need."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from precast.base.errors import PrecastError
from precast.lang.values.versions import SemVer, SemVerRange

FILE: Final = "metadata.json"
_FULL_NAME: Final = re.compile(r"[A-Za-z0-9]+[-/]([a-z][a-z0-9_]*)")
_REQUIRED: Final = ("name", "version", "author", "license", "summary", "source", "dependencies")


class Dependency(msgspec.Struct, frozen=True):
    """A module that another needs; `wanted` is a range of versions, empty for any."""

    name: str
    wanted: str


class Metadata(msgspec.Struct, frozen=True):
    """A module as it describes itself, as far as it does."""

    full_name: str = ""
    version: str = ""
    summary: str = ""
    dependencies: tuple[Dependency, ...] = ()
    problems: tuple[str, ...] = ()


def read_metadata(name: str, data: bytes | None) -> Metadata:
    """A module's metadata with all that is wrong in it. Never raises: a broken file is a problem among others."""
    if data is None:
        return Metadata(problems=(f"it has no {FILE}",))
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        return Metadata(problems=(f"{FILE} is no JSON: {error}",))
    if not isinstance(found, dict):
        return Metadata(problems=(f"{FILE} holds no object",))
    dependencies, problems = _dependencies(found.get("dependencies", []))
    return Metadata(
        full_name=_text(found, "name").replace("/", "-"),
        version=_text(found, "version"),
        summary=_text(found, "summary"),
        dependencies=dependencies,
        problems=(*_problems(name, found), *problems),
    )


def _text(found: dict[str, Any], name: str) -> str:
    value = found.get(name)
    return value if isinstance(value, str) else ""


def _problems(name: str, found: dict[str, Any]) -> Iterator[str]:
    missing = [each for each in _REQUIRED if each not in found]
    if missing:
        yield f"{FILE} lacks {', '.join(missing)}"
    full = _FULL_NAME.fullmatch(_text(found, "name"))
    if "name" in found and full is None:
        yield f"'{found['name']}' is no AUTHOR-NAME"
    elif full is not None and full[1] != name:
        yield f"it is called {full[1]} in {FILE}, but its directory {name}"
    if "version" in found and SemVer.parse(_text(found, "version")) is None:
        yield f"'{found['version']}' is no version"


def _dependencies(given: Any) -> tuple[tuple[Dependency, ...], tuple[str, ...]]:
    if not isinstance(given, list):
        return (), ("dependencies is no list",)
    found: list[Dependency] = []
    problems: list[str] = []
    for each in given:
        full = _FULL_NAME.fullmatch(str(each.get("name", ""))) if isinstance(each, dict) else None
        if full is None:
            problems.append(f"a dependency without the name of a module: {json.dumps(each)[:80]}")
            continue
        wanted = str(each.get("version_requirement", ""))
        if wanted and _range(wanted) is None:
            problems.append(f"'{wanted}' for {full[1]} is no range of versions")
            wanted = ""
        found.append(Dependency(full[1], wanted))
    return tuple(found), tuple(problems)


def _range(text: str) -> SemVerRange | None:
    try:
        return SemVerRange.parse(text)
    except PrecastError:
        return None


def unmet(modules: Mapping[str, Metadata]) -> dict[str, list[str]]:
    """What each module needs and does not get from the others, in words; only those that lack something."""
    found: dict[str, list[str]] = {}
    for name, metadata in modules.items():
        for dependency in metadata.dependencies:
            problem = _lack(modules, dependency)
            if problem:
                found.setdefault(name, []).append(problem)
    return found


def _lack(modules: Mapping[str, Metadata], dependency: Dependency) -> str:
    wanted = f" {dependency.wanted}" if dependency.wanted else ""
    present = modules.get(dependency.name)
    if present is None:
        return f"needs {dependency.name}{wanted}, which is missing"
    allowed = _range(dependency.wanted) if dependency.wanted else None
    version = SemVer.parse(present.version)
    if allowed is not None and version is not None and not allowed.includes(version):
        return f"needs {dependency.name}{wanted}, but {present.version} is there"
    return ""
