"""The files of a plan and its parameters, as a command line names them.

A directory is one graph: all YAML files below it, in the order of their paths. Each directory is a layer of its own, and files beside each
other are one layer; a task of a later layer replaces that of an earlier one with the same id.
"""

from collections.abc import Sequence
from pathlib import Path

from precast.cli import issues
from precast.cli.console.files import read_source
from precast.wire.plans.bodies import PlanFile

SUFFIXES = (".yaml", ".yml")


def read_plan_files(arguments: Sequence[str]) -> list[PlanFile]:
    """The files in order. Raises NotFoundError CLI-010, InputError CLI-011 or CLI-012, and CLI-001 for a directory without any."""
    texts: list[PlanFile] = []
    layer, was_file = 0, True
    for argument in arguments:
        is_directory = Path(argument).is_dir()
        layer += is_directory or not was_file
        was_file = not is_directory
        texts += [PlanFile(path, read_source(path).text, layer) for path in list_files(argument)]
    return texts


def list_files(argument: str) -> list[str]:
    """A file, or all YAML files below a directory. Raises InputError CLI-001 if it has none."""
    path = Path(argument)
    if not path.is_dir():
        return [argument]
    found = [str(file) for file in sorted(path.rglob("*")) if file.suffix in SUFFIXES and file.is_file()]
    if not found:
        raise issues.USAGE.error(problem=f"there are no YAML files below {argument}", usage="name the files of a plan")
    return found


def name_plan(arguments: Sequence[str]) -> str:
    """The name of a plan of these files, unless one of them says another."""
    return Path(arguments[0]).stem if arguments[0] != "-" else "plan"


def read_parameter(text: str) -> tuple[str, str]:
    """A parameter of a command line. Raises InputError CLI-001."""
    name, separator, value = text.partition("=")
    if not separator or not name:
        raise issues.USAGE.error(problem=f"--param {text!r} has no value", usage="write --param NAME=VALUE")
    return name, value
