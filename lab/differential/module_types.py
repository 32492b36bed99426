"""Type code of modules, in real Puppet and in the Ruby subset: resources with generated values, of which one is varied at a time.

    python -m lab.differential.module_types [--seed N] [--each N] [--type NAME] MODULEPATH

A value that Puppet refuses must be refused, and one that it accepts must be accepted; automatic relations must name the same titles. What
the subset cannot check, because only a node knows it, is counted.
"""

import argparse
import collections
import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from lab.differential.module_functions import MODULES, start
from precast.base import digests
from precast.base.errors import PrecastError
from precast.lang.compiler.compilation import Compilation
from precast.lang.ruby.values import to_ruby
from precast.lang.type_code.running import CheckedResource, TypeCode, load_type
from precast.lang.values.base import Hash

PUPPET = Path(__file__).with_name("puppet_types.rb")
TITLES = ("a", "/x/y", "a/b", "u@localhost", "001 rule", "a::b", "A:b:C", "example.org")
VALUES: tuple[Any, ...] = (
    "a", "present", "10", 10, -1, True, False, "true", "/abs/path", "rel/path", ("a", "b"), ("/x", "/y"), "", " b ", "u@localhost",
    "192.0.2.1", "http://h.example/x", "yes", "absent", "0644", "1.5", "10M", "latest", "tcp", {"k": "v"}, "Aa_B-c", "a,b", "*",
)  # fmt: skip


class Asked(NamedTuple):
    """One resource to make."""

    type_name: str
    title: str
    values: dict[str, Any]


def type_files(modules: Path) -> Iterator[Path]:
    yield from sorted(modules.glob("*/lib/puppet/type/*.rb"))


def ask_puppet(modules: Path, asked: list[Asked]) -> list[dict[str, Any]]:
    lines = "".join(
        json.dumps({"type": each.type_name, "title": each.title, "values": each.values}) + "\n" for each in asked
    )
    done = subprocess.run(
        ["ruby", str(PUPPET), str(modules)], input=lines, capture_output=True, text=True, timeout=900, check=True
    )
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


class Difference(NamedTuple):
    asked: Asked
    ours: str
    puppets: str


class Comparison(NamedTuple):
    """What came of a run: the types, the resources, those that Puppet refuses and we too, and the differences by their sort."""

    types: int
    asked: int
    refused: int
    wrongly_refused: list[Difference]
    wrongly_accepted: list[Difference]
    other_relations: list[Difference]


def load(compilation: Compilation, path: Path) -> TypeCode | None:
    """Return the code of a type; None if the subset cannot run the file, or the file declares another type."""
    found = compilation.inputs.text(f"modules/{path.relative_to(MODULES)}")
    text = found[1] if found is not None else path.read_text("utf-8", "replace")
    place = f"modules/{path.relative_to(MODULES)}"
    try:
        return load_type(compilation, compilation.top, path.stem, place, digests.of_bytes(text.encode()), text)
    except PrecastError:
        return None


def resources(name: str, code: TypeCode, chance: random.Random, count: int) -> Iterator[Asked]:
    """Yield resources with no value, one or two, and some with a value for most attributes."""
    attributes = [each for each in code.attributes() if each not in ("provider", "name")]
    for title in TITLES:
        yield Asked(name, title, {})
    for _ in range(count):
        chosen = chance.sample(attributes, min(len(attributes), chance.choice((1, 1, 1, 2, 2, len(attributes)))))
        yield Asked(name, chance.choice(TITLES), {each: chance.choice((*VALUES, *code.words(each))) for each in chosen})


def compare(seed: int, each: int, only: str = "") -> Comparison:
    chance, compilation = random.Random(seed), start(MODULES)
    codes: dict[str, TypeCode] = {}
    for path in type_files(MODULES):
        code = load(compilation, path) if only in ("", path.stem) else None
        if code is not None:
            codes[path.stem] = code
    asked = [every for name, code in codes.items() for every in resources(name, code, chance, each)]
    answers = ask_puppet(MODULES, asked)
    assert len(answers) == len(asked)
    result = Comparison(len(codes), len(asked), 0, [], [], [])
    refused = 0
    for every, answer in zip(asked, answers, strict=True):
        values = {name: to_ruby(_value(value)) for name, value in every.values.items()}
        namevars = codes[every.type_name].namevars()
        if len(namevars) == 1:
            values.setdefault(namevars[0], every.title)
        elif namevars:
            continue  # its title patterns decide; they have a test of their own
        checked = codes[every.type_name].check(every.title, values)
        refused += _compare(every, checked, answer, result)
    return result._replace(refused=refused)


def _compare(asked: Asked, checked: CheckedResource, answer: dict[str, Any], result: Comparison) -> bool:
    """Add what differs, and return whether both refuse."""
    ours = "" if checked.refused is None else f"{checked.refused.attribute}: {checked.refused.reason}"
    puppets = answer.get("error", "")
    if bool(ours) != bool(puppets):
        (result.wrongly_refused if ours else result.wrongly_accepted).append(Difference(asked, ours, puppets))
        return False
    if not ours and checked.relations is not None:
        mine = sorted((each.kind, each.type_name, list(each.titles)) for each in checked.relations)
        theirs = sorted((_KINDS[kind], name, titles) for kind, name, titles in answer["relations"] if titles)
        if mine != theirs:
            result.other_relations.append(Difference(asked, str(mine), str(theirs)))
    return bool(ours)


_KINDS: Final = {"autorequire": "require", "autosubscribe": "require", "autobefore": "before", "autonotify": "before"}


def _value(value: Any) -> Any:
    return Hash.of(value.items()) if isinstance(value, dict) else value


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--each", type=int, default=20, help="resources of each type")
    parser.add_argument("--type", default="", help="only this type")
    options = parser.parse_args(arguments)
    result = compare(options.seed, options.each, options.type)
    print(f"{result.types} types, {result.asked} resources: both refuse {result.refused}")
    for name in ("wrongly_refused", "wrongly_accepted", "other_relations"):
        found: list[Difference] = getattr(result, name)
        print(f"{name}: {len(found)}")
        by_type = collections.Counter(each.asked.type_name for each in found)
        for type_name, count in by_type.most_common(25):
            example = next(each for each in found if each.asked.type_name == type_name)
            print(f"  {count:4} {type_name} {example.asked.title!r} {str(example.asked.values)[:150]}")
            print(f"       ours {example.ours[:150]!r}; Puppet's {example.puppets[:200]!r}")
    return 1 if result.wrongly_refused else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
