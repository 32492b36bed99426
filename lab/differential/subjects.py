"""Turns an entry of subjects.yaml into a profile class and the data it needs, with parameters chosen by their declared types."""

import functools
import random
from pathlib import Path
from typing import Any

import msgspec
import yaml  # type: ignore[import-untyped]

from lab.differential import declared
from lab.differential.choices import Chooser, NoChoice
from lab.differential.notation import attributes, literal

TABLE = Path(__file__).with_name("subjects.yaml")
MOST_EXTRAS = 5
# Parameters that say whether a thing is there at all, or hand values on to another language: left alone most of the time.
DULL = frozenset(("ensure", "package_ensure", "service_ensure", "manage_package", "service_manage", "package_manage"))


class Profile(msgspec.Struct, frozen=True):
    """A profile class, what Hiera must say for it, and the classes of modules it includes."""

    name: str
    code: str
    data: dict[str, Any]


@functools.cache
def table() -> dict[str, dict[str, Any]]:
    """All subjects whose classes and defines are installed."""
    found: dict[str, dict[str, Any]] = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
    return {
        name: entry
        for name, entry in found.items()
        if all(declared.is_there(each) for each in [*entry.get("classes", ()), *entry.get("defines", ())])
    }


def profile(name: str, chance: random.Random) -> Profile:
    """The profile of a subject: its classes from Hiera, its defines in one of the ways that people write them."""
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
    made: dict[str, dict[str, Any]] = {}
    for number in range(chance.randint(1, entry.get("often", 1))):
        given = _numbered(entry["given"], number)
        extras = {} if entry.get("least") else _extras(type_name, given, chance)
        made[_numbered(entry["title"], number)] = given | extras
    style = chance.randrange(4)
    if style == 0:
        return "".join(
            f"  {type_name} {{ {literal(title)}:\n{attributes(values)}  }}\n" for title, values in made.items()
        )
    if style == 1:
        return f"  with({literal(made)}) |$made| {{ $made.each |$title, $values| {{ {type_name} {{ $title: * => $values }} }} }}\n"
    if style == 2:
        return f"  create_resources({literal(type_name)}, {literal(made)}, {{ 'tag' => 'made' }})\n"
    key = f"profile::{profile_name}::{type_name.replace('::', '_')}"
    data[key] = made
    loop = f"|String $title, Hash $values| {{\n    {type_name} {{ $title: * => $values }}\n  }}"
    return f"  lookup({literal(key)}, Hash, 'deep', {{}}).each {loop}\n"


def _numbered(value: Any, number: int) -> Any:
    if isinstance(value, str):
        return value.replace("{n}", str(number))
    if isinstance(value, list):
        return [_numbered(each, number) for each in value]
    if isinstance(value, dict):
        return {_numbered(key, number): _numbered(each, number) for key, each in value.items()}
    return value


def _extras(name: str, given: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """Some parameters that nobody must give."""
    known = [each for each in declared.parameters(name) if each.name not in given]
    chance.shuffle(known)
    chooser = Chooser(chance)
    extras: dict[str, Any] = {}
    wanted = chance.randint(0, MOST_EXTRAS)
    for parameter in known:
        if len(extras) >= wanted:
            break
        if parameter.name in DULL and chance.random() < 0.8:
            continue
        try:
            extras[parameter.name] = chooser.value(parameter)
        except NoChoice:
            continue
    return extras
