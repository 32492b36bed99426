"""One case for each class and define of a module: the code that declares it, and the machine whose facts it is compiled with.

The cases of a module are node blocks of one environment, so that both compilers read the module once.
"""

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from lab.corpus import modules
from lab.differential.environment import Environment
from lab.differential.fact_sets import FactSet, fact_sets
from lab.differential.notation import attributes, literal


class CorpusCase(NamedTuple):
    """A class or define with parameters, on one machine."""

    id: str
    environment: Environment
    machine: FactSet
    declared: str
    code: str


def cases(root: Path, others: list[Path], seed: int, machines: int, only: tuple[str, ...] = ()) -> Iterator[CorpusCase]:
    """The cases of a directory of modules; modules that it lacks are taken from `others`."""
    modules.use([root, *others])
    by_module: dict[str, list[modules.Declared]] = {}
    for declared in modules.declarations(root, only):
        by_module.setdefault(declared.module, []).append(declared)
    for module, all_declared in by_module.items():
        yield from _module_cases(module, all_declared, [root, *others], seed, machines)


def _module_cases(
    module: str, all_declared: list[modules.Declared], paths: list[Path], seed: int, machines: int
) -> Iterator[CorpusCase]:
    chance = random.Random(f"{seed}/{module}")
    systems = fact_sets(chance)
    main = next((each for each in all_declared if each.is_class and each.name == module), None)
    chosen: list[tuple[str, str, FactSet]] = []
    for number, declared in enumerate(all_declared):
        for variant in range(machines):
            code = _code(declared, main, chance, variant)
            if code is not None:
                chosen.append((declared.name, code, systems[(number + variant) % len(systems)]))
    site, made = [], []
    for number, (name, code, machine) in enumerate(chosen):
        certname = f"c{number}.{re.sub(r'[^a-z0-9]', '-', module.lower())}.example.test"
        site.append(f"node '{certname}' {{\n{code}}}\n")
        made.append(
            (name, code, msgspec.structs.replace(machine, certname=certname, facts=_renamed(machine, certname)))
        )
    files = {
        "environment.conf": f"modulepath = {':'.join(map(str, paths))}\n",
        "manifests/site.pp": "".join(site),
    }
    environment = Environment(re.sub(r"\W", "_", module.lower()), files, [machine for _, _, machine in made])
    for number, (name, code, machine) in enumerate(made):
        yield CorpusCase(f"{environment.name}.{number}", environment, machine, name, code)


def _renamed(machine: FactSet, certname: str) -> dict[str, object]:
    host, _, domain = certname.partition(".")
    networking = {**machine.facts["networking"], "fqdn": certname, "hostname": host, "domain": domain}
    named = {"fqdn": certname, "hostname": host, "domain": domain, "clientcert": certname, "networking": networking}
    return {**machine.facts, **named}


def _code(declared: modules.Declared, main: modules.Declared | None, chance: random.Random, variant: int) -> str | None:
    """The code of a case: the first variant has required parameters only, others have more. A define has the module's main class before."""
    given = modules.values(declared, chance, 0 if variant == 0 else modules.MAX_EXTRAS)
    if given is None:
        return None
    if declared.is_class:
        return _class(declared.name, given)
    of_main = None if main is None else modules.values(main, chance, 0)
    before = "" if main is None or of_main is None else _class(main.name, of_main)
    titles = [title for title, _ in declared.examples if title]
    title = titles[0] if titles else "/srv/title" if "path" in declared.name else "title"
    return f"{before}  {declared.name} {{ {literal(title)}:\n{attributes(given)}  }}\n"


def _class(name: str, given: dict[str, Any]) -> str:
    return f"  class {{ {literal(name)}:\n{attributes(given)}  }}\n"
