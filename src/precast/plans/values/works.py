"""The work of each type of task, from the parameters that were written, or that expressions have given."""

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, Literal, NamedTuple, Protocol

import msgspec
import yaml  # type: ignore[import-untyped] # it has no types of its own

from precast.base import canonical
from precast.base.errors import PrecastError
from precast.plans import issues
from precast.plans.expressions import find_expressions
from precast.plans.model import PlanTask
from precast.wire.jobs.programs import (
    AnyWork,
    CatalogWork,
    CopiedFile,
    CopyWork,
    ExecutableWork,
    ManifestWork,
    NoWork,
    RebootWork,
    ShellWork,
    SyncWork,
    UploadWork,
)

# What one variable of a command's environment may have; the kernel refuses more than 128 KB.
MAX_VARIABLE_BYTES: Final = 100_000
PREFIX: Final = "PT_"

_ENTRY_ROOT: Final = re.compile(r"/(?=(?:modules|manifests)/)")


class TaskFile(NamedTuple):
    """The file of a module's task: the digest of its content, and how it reads its parameters."""

    content: str
    input: Literal["both", "stdin", "environment"] = "both"


class PlanValues(Protocol):
    """What a program needs besides its task."""

    @property
    def mode(self) -> Literal["noop", "enforce"]: ...

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The values of the plan's parameters."""

    @property
    def givers(self) -> Collection[str]:
        """The ids of the tasks from whose results others take inputs."""

    def find_task(self, name: str) -> TaskFile | None:
        """The task of a module of the environment, such as `mysql::backup`; None if there is none."""


def build_work(task: PlanTask, node: str, values: PlanValues) -> AnyWork:
    """The work of a task on a node, which messages name. Raises InputError PLAN-056 and PLAN-057."""
    build = _WORKS.get(task.type)
    return NoWork() if build is None else build(_Fields(task, node), values)


def read_entry_point(path: str) -> str | None:
    """The path of an entry point within the environment; None if it leads out of it.

    A relative path is that path. Of an absolute one, as Fuel writes them, the part from its first directory `modules` or `manifests` is:
    `/etc/puppet/modules/x/examples/y.pp` is `modules/x/examples/y.pp`.
    """
    if path.startswith("/"):
        root = _ENTRY_ROOT.search(path)
        if root is None:
            return None
        path = path[root.end() :]
    is_clean = all(part not in ("", ".", "..") for part in path.split("/"))
    return path if is_clean and path.endswith(".pp") else None


class _Fields:
    """The parameters of a task by their types."""

    def __init__(self, task: PlanTask, node: str) -> None:
        self.task = task
        self.node = node
        for expression in find_expressions(task):
            raise self.refuse(expression.name, "is an expression that has not been evaluated")

    def text(self, name: str, default: str | None = None) -> str:
        value = self.task.parameters.get(name, default)
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise self.refuse(name, "is missing" if value is None else "is not a text")
        if value == "" and default is None:
            raise self.refuse(name, "is empty")
        return str(value)

    def texts(self, name: str) -> list[str]:
        value = self.task.parameters.get(name)
        items = [] if value is None else value if isinstance(value, list | tuple) else [value]
        if not all(isinstance(item, str) for item in items):
            raise self.refuse(name, "is not a list of texts")
        return list(items)

    def mapping(self, name: str) -> dict[str, Any]:
        value = self.task.parameters.get(name)
        if value is not None and not isinstance(value, dict):
            raise self.refuse(name, "is not a mapping")
        return value or {}

    def permissions(self, name: str) -> str:
        """The digits; a number is what YAML makes of digits with a leading zero."""
        value = self.task.parameters.get(name)
        return f"{value:04o}" if type(value) is int else self.text(name, "")

    def refuse(self, name: str, reason: str) -> PrecastError:
        return issues.BAD_TASK_VALUE.error(task=self.task.id, node=self.node, reason=f"{name} {reason}")


def _shell(fields: _Fields, values: PlanValues) -> AnyWork:
    given = fields.mapping("environment")
    parameters = {**values.parameters, **fields.task.arguments}
    variables = {f"{PREFIX}{name}": value for name, value in parameters.items()}
    environment = {name: _variable(fields, name, value) for name, value in {**variables, **given}.items()}
    return ShellWork(fields.text("cmd"), fields.text("cwd", "/"), environment, fields.task.id in values.givers)


def _variable(fields: _Fields, name: str, value: Any) -> str:
    text = value if isinstance(value, str) else canonical.encode(value).decode()
    if "\0" in text or len(text.encode()) > MAX_VARIABLE_BYTES:
        reason = f"has more than {MAX_VARIABLE_BYTES} bytes, or a NUL character, and cannot be a variable of a command"
        raise fields.refuse(name, reason)
    return text


def _executable(fields: _Fields, values: PlanValues) -> AnyWork:
    name = fields.text("task")
    file = values.find_task(name)
    if file is None:
        raise issues.UNKNOWN_MODULE_TASK.error(task=fields.task.id, name=name)
    return ExecutableWork(name, file.content, fields.mapping("parameters"), file.input)


def _upload(fields: _Fields, values: PlanValues) -> AnyWork:
    path, data = fields.text("path"), fields.task.parameters.get("data")
    if data is None and "data" not in fields.task.inputs:
        raise fields.refuse("data", "is missing, and the task has no input of that name")
    text = None if data is None else data if isinstance(data, str) else _write_data(path, data)
    return UploadWork(path, text, fields.permissions("permissions"), fields.permissions("dir_permissions"))


def _write_data(path: str, data: Any) -> str:
    """A value as the text of a file: YAML, or JSON if the path ends so."""
    plain = msgspec.json.decode(canonical.encode(data))
    if path.endswith(".json"):
        return msgspec.json.format(canonical.encode(plain), indent=2).decode() + "\n"
    text: str = yaml.dump(plain, Dumper=yaml.SafeDumper, default_flow_style=False, allow_unicode=True, sort_keys=True)
    return text


def _copy(fields: _Fields, values: PlanValues) -> AnyWork:
    files = read_files(fields.task, fields.node)
    return CopyWork(files, fields.permissions("permissions"), fields.permissions("dir_permissions"))


def read_files(task: PlanTask, node: str) -> list[CopiedFile]:
    """The files of a `copy_files`. Raises InputError PLAN-056."""
    fields = _Fields(task, node)
    files = task.parameters.get("files")
    if not isinstance(files, list) or not files:
        raise fields.refuse("files", "is not a list of mappings with src and dst")
    copied = []
    for file in files:
        source, target = (file.get("src"), file.get("dst")) if isinstance(file, dict) else (None, None)
        if not isinstance(source, str) or not isinstance(target, str):
            raise fields.refuse("files", "is not a list of mappings with src and dst")
        copied.append(CopiedFile(source, target))
    return copied


def _sync(fields: _Fields, values: PlanValues) -> AnyWork:
    return SyncWork(fields.text("src"), fields.text("dst"))


def _reboot(fields: _Fields, values: PlanValues) -> AnyWork:
    return RebootWork()


def _catalog(fields: _Fields, values: PlanValues) -> AnyWork:
    return CatalogWork(_mode(fields), fields.texts("tags"), fields.texts("classes"), fields.texts("stages"))


def _manifest(fields: _Fields, values: PlanValues) -> AnyWork:
    name = "manifest" if "manifest" in fields.task.parameters else "puppet_manifest"
    entry = read_entry_point(fields.text(name))
    if entry is None:
        raise fields.refuse(name, "is not a manifest of the environment: a path such as modules/x/examples/y.pp")
    return ManifestWork(entry, _mode(fields))


def _mode(fields: _Fields) -> Literal["noop", "enforce"]:
    return "noop" if fields.text("mode", "enforce") == "noop" else "enforce"


_WORKS: Final[Mapping[str, Callable[[_Fields, PlanValues], AnyWork]]] = {
    "shell": _shell,
    "task": _executable,
    "upload_file": _upload,
    "copy_files": _copy,
    "sync": _sync,
    "reboot": _reboot,
    "catalog": _catalog,
    "manifest": _manifest,
}
