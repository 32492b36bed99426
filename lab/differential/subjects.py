"""Makes a profile class and its data from an entry of subjects.yaml, with parameters chosen by their declared types."""

import functools
import random
from pathlib import Path
from typing import Any

import msgspec
import yaml  # type: ignore[import-untyped]

from lab.differential import module_declarations
from lab.differential.choices import Chooser, NoChoice
from lab.differential.notation import attributes, literal

TABLE = Path(__file__).with_name("subjects.yaml")
MAX_EXTRAS = 5
# Parameters that decide whether a thing exists at all; left out most of the time.
SELDOM_CHOSEN = frozenset(
    ("ensure", "package_ensure", "service_ensure", "manage_package", "service_manage", "package_manage")
)


class Profile(msgspec.Struct, frozen=True):
    """A profile class and the Hiera data it needs."""

    name: str
    code: str
    data: dict[str, Any]


@functools.cache
def table() -> dict[str, dict[str, Any]]:
    """All subjects whose classes and defines are installed."""
    entries: dict[str, dict[str, Any]] = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
    return {
        name: entry
        for name, entry in entries.items()
        if all(
            module_declarations.is_installed(known) for known in [*entry.get("classes", ()), *entry.get("defines", ())]
        )
    }


def profile(name: str, chance: random.Random) -> Profile:
    """The profile of a subject: its classes get parameters from Hiera, its defines are declared in one of several usual styles."""
    entry = table()[name]
    data: dict[str, Any] = {}
    lines = []
    for class_name, given in entry.get("classes", {}).items():
        values = given | _extras(class_name, given, chance)
        data |= {f"{class_name}::{key}": value for key, value in values.items()}
        lines.append(f"  {chance.choice(('include', 'contain', 'require'))} {class_name}\n")
    for kind in ("defines", "resources"):
        for type_name, given in entry.get(kind, {}).items():
            if chance.random() < 0.7:
                lines.append(_instances(name, type_name, given, chance, data))
    code = f"class profile::{name} (\n  Hash $things = {{}},\n) {{\n{''.join(lines)}}}\n"
    return Profile(name, code, data)


def _instances(
    profile_name: str, type_name: str, entry: dict[str, Any], chance: random.Random, data: dict[str, Any]
) -> str:
    instances: dict[str, dict[str, Any]] = {}
    for number in range(chance.randint(1, entry.get("often", 1))):
        given = _numbered(entry["given"], number)
        extras = {} if entry.get("least") else _extras(type_name, given, chance)
        instances[_numbered(entry["title"], number)] = given | extras
    style = chance.randrange(4)
    if style == 0:
        return "".join(
            f"  {type_name} {{ {literal(title)}:\n{attributes(values)}  }}\n" for title, values in instances.items()
        )
    if style == 1:
        return f"  with({literal(instances)}) |$made| {{ $made.each |$title, $values| {{ {type_name} {{ $title: * => $values }} }} }}\n"
    if style == 2:
        return f"  create_resources({literal(type_name)}, {literal(instances)}, {{ 'tag' => 'made' }})\n"
    key = f"profile::{profile_name}::{type_name.replace('::', '_')}"
    data[key] = instances
    loop = f"|String $title, Hash $values| {{\n    {type_name} {{ $title: * => $values }}\n  }}"
    return f"  lookup({literal(key)}, Hash, 'deep', {{}}).each {loop}\n"


def _numbered(value: Any, number: int) -> Any:
    if isinstance(value, str):
        return value.replace("{n}", str(number))
    if isinstance(value, list):
        return [_numbered(item, number) for item in value]
    if isinstance(value, dict):
        return {_numbered(key, number): _numbered(item, number) for key, item in value.items()}
    return value


def _extras(name: str, given: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """Some optional parameters."""
    known = [parameter for parameter in module_declarations.parameters(name) if parameter.name not in given]
    chance.shuffle(known)
    chooser = Chooser(chance)
    extras: dict[str, Any] = {}
    wanted = chance.randint(0, MAX_EXTRAS)
    for parameter in known:
        if len(extras) >= wanted:
            break
        if parameter.name in SELDOM_CHOSEN and chance.random() < 0.8:
            continue
        try:
            extras[parameter.name] = chooser.value(parameter)
        except NoChoice:
            continue
    return extras
