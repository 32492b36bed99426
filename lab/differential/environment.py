"""Generates environments over real modules, the same for the same seed.

An environment has a role with profiles: one or more for subjects (classes and defines of real modules, with parameters chosen by
their types), and some generated features; Hiera with three layers or more; and five machines to compile it for.
"""

import random
from pathlib import Path
from typing import Any

import msgspec

from lab.differential import features, module_declarations, subjects
from lab.differential.fact_sets import FactSet, fact_sets
from lab.differential.hierarchies import hierarchy, spread

SEED = 20261116
# The default number of environments: each subject is the first of one.
NUMBERS = range(72)


class Environment(msgspec.Struct, frozen=True):
    """The files of one environment, and the machines it is compiled for."""

    name: str
    files: dict[str, str]
    machines: list[FactSet]

    def write(self, directory: Path) -> None:
        """Write the files below a directory, under the environment's name."""
        for path, text in self.files.items():
            target = directory / self.name / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")


def generate(number: int, seed: int = SEED) -> Environment:
    """Environment `number` of a seed."""
    chance = random.Random(f"{seed}/{number}")
    names = sorted(subjects.table())
    chosen = [names[number % len(names)], *chance.sample(names, chance.randrange(0, 3))]
    profiles = [subjects.profile(name, chance) for name in dict.fromkeys(chosen)]
    own = {
        name: features.MAKERS[name](chance) for name in chance.sample(sorted(features.MAKERS), chance.randrange(2, 6))
    }
    machines = fact_sets(chance)
    values = {key: value for profile in profiles for key, value in profile.data.items()}
    options: dict[str, Any] = {}
    files: dict[str, str] = {}
    for name, feature in own.items():
        values |= feature.data
        options |= feature.options
        files[f"modules/profile/manifests/{name}.pp"] = feature.code
        files |= {f"modules/profile/{path}": text for path, text in feature.files.items()}
    files |= {f"modules/profile/manifests/{profile.name}.pp": profile.code for profile in profiles}
    values["classes"] = [f"profile::{name}" for name in own]
    options["classes"] = {"merge": "unique"}
    files["environment.conf"] = f"modulepath = modules:{module_declarations.MODULES}\n"
    files["modules/role/manifests/server.pp"] = _role([profile.name for profile in profiles], chance)
    files["manifests/site.pp"] = _site("".join(feature.top for feature in own.values()), chance)
    files["hiera.yaml"] = hierarchy(chance, with_json=True)
    return Environment(f"e{number:03d}", files | spread(chance, values, machines, options), machines)


def _role(profiles: list[str], chance: random.Random) -> str:
    lines = [f"  {chance.choice(('include', 'contain'))} profile::{name}\n" for name in profiles]
    if len(profiles) > 1 and chance.random() < 0.5:
        lines.append(f"  Class['profile::{profiles[0]}'] -> Class['profile::{profiles[1]}']\n")
    return f"class role::server {{\n{''.join(lines)}}}\n"


def _site(top: str, chance: random.Random) -> str:
    include = chance.choice(
        (
            "lookup('classes', Array[String], 'unique').include",
            "include(lookup('classes', { 'merge' => 'unique' }))",
            "lookup('classes', { merge => { 'strategy' => 'unique' } }).each |$name| { contain $name }",
        )
    )
    body = f"{include}\ninclude role::server\n"
    if chance.random() < 0.4:
        body = f'node /^(web|db|mail)\\d+/ {{\n{body}notify {{ "matched ${{1}}": }}\n}}\nnode default {{\n{body}}}\n'
    return f"Package {{ allow_virtual => false }}\n{top}{body}" if chance.random() < 0.3 else f"{top}{body}"
