"""Compiles environments on disk: by real Puppet, all in one process, and by Precast. Both answer in one form.

An answer has `resources`, `edges`, `classes`, `relationships` and `order`, or `error` with a message; ours has a code too, and `crash`
for a fault of ours.
"""

import json
import subprocess
import traceback
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from lab.differential import declared
from lab.differential.environment import Environment
from lab.differential.fact_sets import FactSet
from precast.base import digests
from precast.base.errors import PrecastError
from precast.cli.code.local_environments import DirectoryTree
from precast.lang.answers import FileStore, NodeAnswers, NodeData
from precast.lang.compile import CompileFailure
from precast.lang.inputs import Inputs
from precast.lang.settings import Settings
from tools.oracle import CONSTANTS, Asked, answer_manifest

Answer = dict[str, Any]
Case = tuple[str, Environment, FactSet]
DRIVER = Path(__file__).with_name("puppet_catalogs.rb")
MODULE_PATHS: Final = (declared.MODULES, Path("/usr/share/puppet/modules.available"))


def cases(environments: Iterable[Environment], machines: int) -> Iterator[Case]:
    """Every environment with its first so many machines, under a name."""
    for environment in environments:
        for at, machine in enumerate(environment.machines[:machines]):
            yield f"{environment.name}.{at}", environment, machine


def digest(environment: Environment, machine: FactSet) -> str:
    """What a case consists of, in short."""
    return digests.of_value({"files": environment.files, "node": machine.certname, "facts": machine.facts})


def by_puppet(place: Path, asked: Sequence[Case], templates: Path) -> dict[str, Answer]:
    """What real Puppet says of each case. `templates` gets every rendering of an ERB template."""
    lines = [
        json.dumps({"id": name, "environment": environment.name, "node": machine.certname, "facts": machine.facts})
        for name, environment, machine in asked
    ]
    production = place / "production"  # some types ask for it while they are loaded
    if not production.is_dir():
        production.mkdir()
        (production / "environment.conf").write_text(f"modulepath = {declared.MODULES}\n")
    done = subprocess.run(
        ["ruby", str(DRIVER), str(place), str(templates)],
        cwd=place, input="\n".join(lines), capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise RuntimeError(f"Puppet's driver failed: {done.stderr[-2000:]}")
    answers = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {each["id"]: each for each in answers}


class Ours:
    """Precast over the environments below a directory; the files of one are read once."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._stores: dict[str, FileStore] = {}

    def answer(self, environment: str, machine: FactSet) -> Answer:
        """What Precast says of a case. Never raises."""
        if environment not in self._stores:
            self._stores = {environment: FileStore(DirectoryTree(self._place / environment, MODULE_PATHS))}
        asked = _Asked(environment, self._place, machine, self._stores[environment])
        try:
            return answer_manifest(asked)
        except CompileFailure as failure:
            return {"error": True, "code": failure.error.code, "message": _shown(failure.error)}
        except PrecastError as error:
            return {"error": True, "code": error.code, "message": _shown(error)}
        except Exception as error:  # noqa: BLE001 - the boundary: one case must not end the others
            place = traceback.extract_tb(error.__traceback__)[-1]
            return {"crash": f"{type(error).__name__}: {error} at {Path(place.filename).name}:{place.lineno}"[:500]}


def _shown(error: PrecastError) -> str:
    if error.source is None or error.span is None:
        return error.message
    return f"{error.message} ({error.source.path}:{error.source.position(error.span.start).line})"


class _Asked(Asked):
    """A case in the form that answers are made from."""

    def __init__(self, environment: str, place: Path, machine: FactSet, files: FileStore) -> None:
        node = NodeData.local(machine.certname, machine.facts)
        constants = CONSTANTS | {"environment_path": str(place / environment)}
        self.source = None
        self.answers = NodeAnswers(node, files, constants=constants)
        self.inputs = Inputs(self.answers)
        self.settings = Settings(environment=environment)
