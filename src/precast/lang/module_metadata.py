"""A module's metadata.json, and whether an environment's modules satisfy each other's dependencies."""

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
    """A module that another module needs; `wanted` is a range of versions, empty for any version."""

    name: str
    wanted: str


class Metadata(msgspec.Struct, frozen=True):
    """The fields of a metadata.json that we use; a missing field is empty."""

    full_name: str = ""
    version: str = ""
    summary: str = ""
    dependencies: tuple[Dependency, ...] = ()
    problems: tuple[str, ...] = ()


def read_metadata(name: str, content: bytes | None) -> Metadata:
    """Read a module's metadata and list its problems. Never raises: a broken file is one of the problems."""
    if content is None:
        return Metadata(problems=(f"it has no {FILE}",))
    try:
        data = json.loads(content)
    except (ValueError, RecursionError) as error:
        return Metadata(problems=(f"{FILE} is not valid JSON: {error}",))
    if not isinstance(data, dict):
        return Metadata(problems=(f"{FILE} does not contain an object",))
    dependencies, problems = _dependencies(data.get("dependencies", []))
    return Metadata(
        full_name=_text(data, "name").replace("/", "-"),
        version=_text(data, "version"),
        summary=_text(data, "summary"),
        dependencies=dependencies,
        problems=(*_problems(name, data), *problems),
    )


def _text(data: dict[str, Any], name: str) -> str:
    value = data.get(name)
    return value if isinstance(value, str) else ""


def _problems(name: str, data: dict[str, Any]) -> Iterator[str]:
    missing = [field for field in _REQUIRED if field not in data]
    if missing:
        yield f"{FILE} lacks {', '.join(missing)}"
    full = _FULL_NAME.fullmatch(_text(data, "name"))
    if "name" in data and full is None:
        yield f"'{data['name']}' is not of the form AUTHOR-NAME"
    elif full is not None and full[1] != name:
        yield f"{FILE} names the module {full[1]}, but its directory is {name}"
    if "version" in data and SemVer.parse(_text(data, "version")) is None:
        yield f"'{data['version']}' is not a valid version"


def _dependencies(given: Any) -> tuple[tuple[Dependency, ...], tuple[str, ...]]:
    if not isinstance(given, list):
        return (), ("dependencies is not a list",)
    dependencies: list[Dependency] = []
    problems: list[str] = []
    for entry in given:
        full = _FULL_NAME.fullmatch(str(entry.get("name", ""))) if isinstance(entry, dict) else None
        if full is None:
            problems.append(f"a dependency does not name a module: {json.dumps(entry)[:80]}")
            continue
        wanted = str(entry.get("version_requirement", ""))
        if wanted and _range(wanted) is None:
            problems.append(f"'{wanted}' for {full[1]} is not a valid version range")
            wanted = ""
        dependencies.append(Dependency(full[1], wanted))
    return tuple(dependencies), tuple(problems)


def _range(text: str) -> SemVerRange | None:
    try:
        return SemVerRange.parse(text)
    except PrecastError:
        return None


def unmet_dependencies(modules: Mapping[str, Metadata]) -> dict[str, list[str]]:
    """Describe the dependencies that the other modules do not satisfy, by the module that has them."""
    problems: dict[str, list[str]] = {}
    for name, metadata in modules.items():
        for dependency in metadata.dependencies:
            problem = _unmet_problem(modules, dependency)
            if problem:
                problems.setdefault(name, []).append(problem)
    return problems


def _unmet_problem(modules: Mapping[str, Metadata], dependency: Dependency) -> str:
    wanted = f" {dependency.wanted}" if dependency.wanted else ""
    present = modules.get(dependency.name)
    if present is None:
        return f"needs {dependency.name}{wanted}, which is missing"
    allowed = _range(dependency.wanted) if dependency.wanted else None
    version = SemVer.parse(present.version)
    if allowed is not None and version is not None and not allowed.includes(version):
        return f"needs {dependency.name}{wanted}, but {present.version} is installed"
    return ""
