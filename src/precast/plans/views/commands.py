"""What a task does as commands of a shell, for systems that know nothing of Precast: `puppet apply`, curl, rsync and the like.

A command is complete: it names the directory and the variables that it needs. Four variables are set around it: `NODE`; `ENVIRONMENT`,
the directory of the Puppet environment; `CATALOGS`, a directory with the catalog of each node; `MASTER`, where files are copied from. What
has no such command says why, and fails where it is run: a step that does nothing would look as if it had succeeded.
"""

import posixpath
from collections.abc import Collection
from shlex import quote
from typing import Any, Literal, NamedTuple

import msgspec

from precast.base.errors import PrecastError
from precast.lang.values.base import from_data, literal
from precast.plans.model import PlanTask
from precast.plans.values.works import TaskFile, build_work
from precast.plans.views.descriptions import describe_test
from precast.wire.jobs.programs import (
    AnyTest,
    AnyWork,
    CatalogWork,
    CommandTest,
    CopyWork,
    ExecutableWork,
    FactTest,
    FileTest,
    HttpTest,
    ManifestWork,
    RebootWork,
    ResourceTest,
    ShellWork,
    SyncWork,
    TcpTest,
    UploadWork,
)

ENVIRONMENT, CATALOGS, MASTER = "ENVIRONMENT", "CATALOGS", "MASTER"
_FILE_FLAGS = {"file": "-f", "directory": "-d", "link": "-L"}
# What Puppet prints for each resource that a no-op run would change.
_PENDING = "(noop)"


class StepCommand(msgspec.Struct, frozen=True):
    """A command for /bin/sh, and when it has succeeded. Without a text, `obstacle` says why there is none."""

    says: str
    text: str
    exit_codes: tuple[int, ...] = (0,)
    timeout_s: float = 3_600.0
    within_s: float = 0.0  # it is repeated until it succeeds, for this long
    obstacle: str = ""


class _Values(NamedTuple):
    """What works need besides their tasks (`plans.values.works.PlanValues`)."""

    parameters: dict[str, Any]
    mode: Literal["noop", "enforce"] = "enforce"
    givers: Collection[str] = ()  # what takes inputs has no plain command

    def find_task(self, name: str) -> TaskFile | None:
        return TaskFile("")


def make_test(test: AnyTest) -> StepCommand:
    """The command of a test."""
    text, obstacle = _write_test(test)
    return StepCommand(describe_test(test), text, (0,), test.timeout_s, test.within_s, obstacle)


def make_work(task: PlanTask, node: str, parameters: dict[str, Any]) -> StepCommand | None:
    """The command of a task on a node; None for a task without work. `parameters` are those of the plan."""
    if task.inputs:
        return StepCommand(task.type, "", obstacle=f"it takes {', '.join(task.inputs)} from the results of other tasks")
    if task.type == "manifest" and (path := _find_path(task)):
        found: StepCommand | None = _apply(f"apply {path}", _name_path(task, path), task.parameters.get("mode"))
    else:
        try:
            found = _write_work(build_work(task, node, _Values(parameters)))
        except PrecastError as error:
            found = StepCommand(task.type, "", obstacle=error.message)
    return None if found is None else msgspec.structs.replace(found, timeout_s=task.timeout_s)


def _write_test(test: AnyTest) -> tuple[str, str]:
    match test:
        case CommandTest():
            return test.cmd, ""
        case HttpTest():
            return _write_http(test), ""
        case TcpTest():
            return f"bash -c {quote(f'exec 3<>/dev/tcp/{test.host}/{test.port}')}", ""
        case FileTest():
            return _write_file_test(test), ""
        case FactTest():
            return _write_fact(test)
        case ResourceTest():
            values = "".join(f", {name} => {literal(from_data(value))}" for name, value in test.parameters.items())
            code = f"{test.type.lower()} {{ {literal(test.title)}: {values.removeprefix(', ')} }}"
            return _expect_clean(f"--execute {quote(code)}"), ""
        case _:
            return _write_clean(test.work)


def _write_http(test: HttpTest) -> str:
    codes = "|".join(f"*{code}" for code in test.status or [200])  # curl prints the code behind the answer
    text = f"out=$(curl --silent --show-error --write-out '%{{http_code}}' {quote(test.url)})"
    text += f' && case "$out" in {codes}) ;; *) false ;; esac'
    return text + (f""" && printf '%s' "$out" | grep -qF -- {quote(test.contains)}""" if test.contains else "")


def _write_file_test(test: FileTest) -> str:
    path = quote(test.path)
    exists = f"{{ [ -e {path} ] || [ -L {path} ]; }}"
    if test.state == "absent":
        return f"! {exists}"
    text = exists if test.state == "present" else f"[ {_FILE_FLAGS[test.state]} {path} ]"
    return text + (f" && grep -qF -- {quote(test.contains)} {path}" if test.contains else "")


def _write_fact(test: FactTest) -> tuple[str, str]:
    found = f'"$(facter {quote(test.fact)})"'
    if test.equals is None:
        return f"[ -n {found} ]", ""
    if not isinstance(test.equals, str | int | float):
        return "", "facter prints a fact that is no scalar in many ways"
    wanted = str(test.equals).lower() if isinstance(test.equals, bool) else str(test.equals)
    return f"[ {found} = {quote(wanted)} ]", ""


def _write_clean(work: CatalogWork | ManifestWork | None) -> tuple[str, str]:
    if isinstance(work, ManifestWork):
        return _expect_clean(_name_manifest(work.entry)), ""
    options = _name_catalog(work or CatalogWork())
    return (_expect_clean(options), "") if options else ("", "plain Puppet applies no stage of a catalog alone")


def _expect_clean(options: str) -> str:
    """A no-op run after which nothing is pending."""
    return f"""out=$(puppet apply --noop --color=false {options}) && ! printf '%s' "$out" | grep -qF '{_PENDING}'"""


def _name_manifest(entry: str) -> str:
    return f'--modulepath "${ENVIRONMENT}/modules" "${ENVIRONMENT}"/{quote(entry)}'


def _name_catalog(work: CatalogWork) -> str:
    """The options for the catalog of the node, in `$NODE`; empty if a part of it cannot be chosen."""
    tags = [*work.tags, *(name.removeprefix("::").lower() for name in work.classes)]
    chosen = f"--tags {quote(','.join(tags))} " if tags else ""
    return "" if work.stages else f'{chosen}--catalog "${CATALOGS}/$NODE.json"'


def _write_work(work: AnyWork) -> StepCommand | None:
    match work:
        case ManifestWork():
            return _apply(f"apply {work.entry}", _name_manifest(work.entry), work.mode)
        case CatalogWork():
            options = _name_catalog(work)
            if not options:
                return StepCommand("apply a part of the catalog", "", obstacle="plain Puppet applies no stage alone")
            return _apply("apply the catalog", options, work.mode)
        case ShellWork():
            return StepCommand("run a command", _write_shell(work))
        case UploadWork():
            return StepCommand(f"write {work.path}", _write_upload(work))
        case CopyWork():
            return StepCommand("copy files of the master", _write_copies(work))
        case SyncWork():
            options = "--recursive --links --perms --times --checksum --delete"
            source, target = quote(work.source.rstrip("/") + "/"), quote(work.target)
            return StepCommand(f"sync {work.target}", f"mkdir -p {target} && rsync {options} -- {source} {target}")
        case RebootWork():
            return StepCommand("reboot", "shutdown -r now")
        case ExecutableWork():
            return StepCommand(f"run {work.name}", "", obstacle=f"{work.name} is a task of a module; Bolt runs it too")
        case _:
            return None


def _find_path(task: PlanTask) -> str | None:
    """The manifest of a task if it is an absolute path, as Fuel writes it: plain Puppet needs no environment for it."""
    path = task.parameters.get("manifest", task.parameters.get("puppet_manifest"))
    return path if isinstance(path, str) and path.startswith("/") else None


def _name_path(task: PlanTask, path: str) -> str:
    modules = task.parameters.get("puppet_modules")
    modulepath = quote(modules) if isinstance(modules, str) and modules else f'"${ENVIRONMENT}/modules"'
    return f"--modulepath {modulepath} {quote(path)}"


def _apply(says: str, options: str, mode: str | None) -> StepCommand:
    noop = "--noop " if mode == "noop" else ""
    return StepCommand(says, f"puppet apply --detailed-exitcodes {noop}{options}", (0, 2))


def _write_shell(work: ShellWork) -> str:
    variables = "".join(f"export {name}={quote(value)}; " for name, value in work.environment.items())
    return f"cd {quote(work.directory)} || exit 1; {variables}{work.cmd}"


def _write_upload(work: UploadWork) -> str:
    path = quote(work.path)
    text = f"{_make_parent(work.path, work.directory_mode)} && printf '%s' {quote(work.data or '')} > {path}"
    return text + _set_mode(work.path, work.mode)


def _write_copies(work: CopyWork) -> str:
    return " && ".join(
        f'{_make_parent(file.target, work.directory_mode)} && scp -p "${MASTER}":{quote(file.source)} {quote(file.target)}'
        + _set_mode(file.target, work.mode)
        for file in work.files
    )


def _make_parent(path: str, mode: str) -> str:
    return f"mkdir -p {f'-m {mode} ' if mode else ''}{quote(posixpath.dirname(path) or '/')}"


def _set_mode(path: str, mode: str) -> str:
    return f" && chmod {mode} {quote(path)}" if mode else ""
