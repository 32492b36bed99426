"""Compiles generated environments over Debian's modules with real Puppet, once for all tests here.

Needs Debian's `puppet-agent` and the `puppet-module-*` packages. The seed is printed with what fails; PRECAST_SEED takes another.
"""

import os
import shutil
from pathlib import Path

import msgspec
import pytest

from lab.differential import catalogs, environment, module_declarations

# Enough to find most faults within a minute; `make soak` compiles all of them.
NUMBERS = environment.NUMBERS[::5]
MACHINES = 2


class Compiled(msgspec.Struct, frozen=True):
    """The cases, the directory of their environments, and Puppet's answers."""

    place: Path
    seed: int
    cases: list[catalogs.Case]
    puppets: dict[str, catalogs.Answer]
    templates: Path


def compile_all(place: Path, numbers: range, machines: int) -> Compiled:
    """Generate environments below a directory, and ask Puppet."""
    seed = int(os.environ.get("PRECAST_SEED", environment.SEED))
    made = [environment.generate(number, seed) for number in numbers]
    for each in made:
        each.write(place)
    cases = list(catalogs.cases(made, machines))
    templates = place / "templates.jsonl"
    return Compiled(place, seed, cases, catalogs.compile_with_puppet(place, cases, templates), templates)


@pytest.fixture(scope="session")
def puppet_and_modules() -> None:
    if shutil.which("puppet") is None or not (module_declarations.MODULES / "stdlib").is_dir():
        if os.environ.get("CI") == "true":
            pytest.fail(
                "puppet-agent or the puppet-module packages are missing, and .ci/run should have installed them"
            )
        pytest.skip("needs real Puppet and its modules (Debian: puppet-agent and puppet-module-*)")


@pytest.fixture(scope="session")
def compiled(puppet_and_modules: None, tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    return compile_all(tmp_path_factory.mktemp("environments"), NUMBERS, MACHINES)
