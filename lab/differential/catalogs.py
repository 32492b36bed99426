"""Compiles environments on disk: with real Puppet, all in one process, and with Precast. Both give answers of the same form.

An answer has `resources`, `edges`, `classes`, `relationships` and `order`, or `error` with a message; Precast's also has a code, and
`crash` for an exception that is not one of our errors.
"""

import json
import subprocess
import traceback
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from lab.differential import module_declarations
from lab.differential.environment import Environment
from lab.differential.fact_sets import FactSet
from precast.base import digests
from precast.base.errors import PrecastError
from precast.cli.code.local_environments import DirectoryTree
from precast.lang.compile import CompileFailure
from precast.lang.file_trees import FileStore
from precast.lang.inputs import Inputs
from precast.lang.node_answers import NodeAnswers, NodeData
from precast.lang.settings import Settings
from tools.oracle import CONSTANTS, Asked, answer_manifest

Answer = dict[str, Any]
Case = tuple[str, Environment, FactSet]
DRIVER = Path(__file__).with_name("puppet_catalogs.rb")
MODULE_PATHS: Final = (module_declarations.MODULES, Path("/usr/share/puppet/modules.available"))


def cases(environments: Iterable[Environment], machines: int) -> Iterator[Case]:
    """Every environment with its first `machines` machines, each with a name."""
    for environment in environments:
        for index, machine in enumerate(environment.machines[:machines]):
            yield f"{environment.name}.{index}", environment, machine


def digest(environment: Environment, machine: FactSet) -> str:
    """The digest of a case's environment and machine."""
    return digests.of_value({"files": environment.files, "node": machine.certname, "facts": machine.facts})


def compile_with_puppet(
    directory: Path, requested: Sequence[Case], templates: Path, timeout_s: float | None = None
) -> dict[str, Answer]:
    """Real Puppet's answer to each case. `templates` receives every rendering of an ERB template. Raises RuntimeError, TimeoutExpired."""
    lines = [
        json.dumps({"id": name, "environment": environment.name, "node": machine.certname, "facts": machine.facts})
        for name, environment, machine in requested
    ]
    production = directory / "production"  # some types read it while they are loaded
    if not production.is_dir():
        production.mkdir()
        (production / "environment.conf").write_text(f"modulepath = {module_declarations.MODULES}\n")
    done = subprocess.run(
        ["ruby", str(DRIVER), str(directory), str(templates)],
        cwd=directory, input="\n".join(lines), capture_output=True, text=True, check=False, timeout=timeout_s,
    )  # fmt: skip
    if done.returncode != 0:
        raise RuntimeError(f"Puppet's driver failed: {done.stderr[-2000:]}")
    answers = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {answer["id"]: answer for answer in answers}


class PrecastAnswers:
    """Precast's answers for the environments below a directory; the files of an environment are read once."""

    def __init__(self, directory: Path, module_paths: tuple[Path, ...] = MODULE_PATHS) -> None:
        self._directory = directory
        self._module_paths = module_paths
        self._stores: dict[str, FileStore] = {}

    def answer(self, environment: str, machine: FactSet) -> Answer:
        """Precast's answer to a case. Never raises."""
        try:
            return answer_manifest(self.asked(environment, machine))
        except CompileFailure as failure:
            return {"error": True, "code": failure.error.code, "message": _shown(failure.error)}
        except PrecastError as error:
            return {"error": True, "code": error.code, "message": _shown(error)}
        except Exception as error:  # noqa: BLE001 - the boundary: one case must not end the others
            frame = traceback.extract_tb(error.__traceback__)[-1]
            return {"crash": f"{type(error).__name__}: {error} at {Path(frame.filename).name}:{frame.lineno}"[:500]}

    def asked(self, environment: str, machine: FactSet) -> Asked:
        """A case in the form from which answers are made."""
        if environment not in self._stores:
            self._stores = {environment: FileStore(DirectoryTree(self._directory / environment, self._module_paths))}
        return _Asked(environment, self._directory, machine, self._stores[environment])


def _shown(error: PrecastError) -> str:
    if error.source is None or error.span is None:
        return error.message
    return f"{error.message} ({error.source.path}:{error.source.position(error.span.start).line})"


class _Asked(Asked):
    """A case in the form from which answers are made."""

    def __init__(self, environment: str, directory: Path, machine: FactSet, files: FileStore) -> None:
        node = NodeData.local(machine.certname, machine.facts, has_exact_facts=True)
        constants = CONSTANTS | {"environment_path": str(directory / environment)}
        self.source = None
        self.answers = NodeAnswers(node, files, constants=constants)
        self.inputs = Inputs(self.answers)
        self.settings = Settings(environment=environment)
