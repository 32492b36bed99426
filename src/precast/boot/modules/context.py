"""Gives a module's function its configuration, the machine below the root, and the values from the data source.

A module makes every change through its context, so a dry run changes nothing and only records what it would do. Where a resource type
exists, that type's own handler makes the change: the same handler that applies catalogs.
"""

import fnmatch
import os
import shlex
import stat
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from precast.agent.applying.machine import Machine
from precast.base import files
from precast.base.errors import NotFoundError
from precast.boot.capabilities import Capability
from precast.boot.modules import issues
from precast.boot.modules.outcomes import ModuleOutcome
from precast.boot.userdata.documents import Script
from precast.resources import registry
from precast.resources.contract import Change, CommandResult, DesiredResource
from precast.resources.files import safe_reads
from precast.resources.files.safe_reads import FileContent

Log = Callable[[str, str], None]  # takes level and text; only root can read the log
_MAX_SHOWN = 200


class ModuleContext:
    """The context of one run of one module or part. `values` contains the available capabilities that the module needs or uses."""

    def __init__(
        self,
        machine: Machine,
        config: Mapping[str, Any],
        values: Mapping[Capability, Any],
        instance_directory: Path,
        log: Log,
        *,
        is_dry_run: bool = False,
        scripts: Sequence[Script] = (),
        begun_earlier: Collection[str] = (),
    ) -> None:
        self.machine = machine
        self.config = config
        self.values = values
        self.instance_directory = instance_directory  # readable by root only; the path includes the machine's root
        self.log = log
        self.is_dry_run = is_dry_run
        self.scripts = scripts
        self.begun_earlier = begun_earlier  # the module runs that an earlier process began and that count as run
        self.outcome = ModuleOutcome()

    @property
    def root(self) -> Path:
        return Path(self.machine.root or "/")

    @property
    def has_programs(self) -> bool:
        """Whether commands can run: on the machine itself, or inside a root that contains a complete system."""
        return not self.machine.root or self.machine.is_chroot

    def get_value(self, capability: Capability, default: Any = None) -> Any:
        """Return the data source's value for a capability."""
        return self.values.get(capability, default)

    def warn(self, text: str) -> None:
        self.outcome.warnings.append(text)

    def record_change(self, text: str) -> None:
        self.outcome.changes.append(text)

    # Files

    def read(self, path: str) -> bytes | None:
        """Return the content of a file below the root; None if the file does not exist. Raises as `safe_reads` does."""
        content = self.read_content(path)
        return None if content is None else content.data

    def read_content(self, path: str) -> FileContent | None:
        """Return a file below the root as it is; None if there is no regular file."""
        try:
            return safe_reads.read_file(safe_reads.node_parents(self.machine), path)
        except NotFoundError:
            return None

    def read_text(self, path: str) -> str:
        """Return the content of a file as text; empty if the file does not exist."""
        return (self.read(path) or b"").decode(errors="surrogateescape")

    def exists(self, path: str) -> bool:
        return safe_reads.exists(safe_reads.node_parents(self.machine), path)

    def is_file(self, path: str) -> bool:
        status = safe_reads.find_status(safe_reads.node_parents(self.machine), path, is_followed=True)
        return status is not None and stat.S_ISREG(status.st_mode)

    def is_block_device(self, path: str) -> bool:
        status = safe_reads.find_status(safe_reads.node_parents(self.machine), path, is_followed=True)
        return status is not None and stat.S_ISBLK(status.st_mode)

    def list_names(self, path: str, pattern: str = "*") -> list[str]:
        """Return the names in a directory below the root that match a shell pattern; empty if there is no directory."""
        names = safe_reads.list_names(safe_reads.node_parents(self.machine), path)
        return [name for name in names if fnmatch.fnmatchcase(name, pattern)]

    def write(self, path: str, data: bytes, mode: int = 0o644, owner: str = "root", group: str = "") -> bool:
        """Write a file and create its missing parent directories. Returns whether anything changed."""
        self.make_directories(path.rpartition("/")[0])
        parameters: dict[str, Any] = {"ensure": "file", "content": data, "mode": f"{mode:04o}", "show_diff": False}
        return self.ensure("file", path, {**parameters, **self.ownership_parameters(owner, group)}, {"content"})

    def ownership_parameters(self, owner: str, group: str = "") -> dict[str, Any]:
        """Return a file resource's parameters for owner and group; empty without root privileges, which chown needs."""
        if os.geteuid() != 0:
            return {}
        # Root is given by number: a root file system that is still being built may have no users yet.
        names = {"owner": owner, "group": group}
        return {parameter: "0" if name == "root" else name for parameter, name in names.items() if name}

    def make_directories(self, path: str, mode: int = 0o755) -> None:
        """Create a directory and its missing parents."""
        missing = []
        while path.strip("/") and not self.exists(path):
            missing.append(path)
            path = path.rpartition("/")[0]
        for directory in reversed(missing):
            self.ensure("file", directory, {"ensure": "directory", "mode": f"{mode:04o}"})

    def remove(self, path: str) -> bool:
        """Remove a file or link. Returns whether it existed."""
        return self.ensure("file", path, {"ensure": "absent"})

    def store_program(self, name: str, data: bytes) -> str:
        """Write a program to the directory of this instance and return its path inside the root. A dry run only returns the path."""
        path = self.instance_directory / name
        if not self.is_dry_run:
            files.make_private_directory(path.parent)
            files.write_owned(path, data, 0o700, (0, 0))
        return str(path).removeprefix(self.machine.root)

    # Resources

    def ensure(self, type_name: str, title: str, parameters: Mapping[str, Any], secrets: Collection[str] = ()) -> bool:
        """Bring a resource to its desired state. Returns whether anything changed. Raises PrecastError or OSError, as its handler does."""
        handler_class = registry.find(type_name)
        if handler_class is None:
            raise issues.NO_TYPE.error(type=type_name)
        resource = DesiredResource(type_name, title, parameters, frozenset(secrets))
        handler = handler_class(resource, self.machine)
        changes = handler.compare(handler.read())
        for change in changes:
            message = None
            if not self.is_dry_run:
                self.machine.snapshots.forget(handler.invalidates)
                try:
                    message = handler.apply(change)
                finally:
                    self.machine.snapshots.forget(handler.invalidates)
            self.record_change(f"{resource.ref}: {_describe_change(handler.redact(change), message)}")
        if changes and not self.is_dry_run:
            handler.flush()
        for level, text in handler.take_logs():
            self.log(level, f"{resource.ref}: {text}")
        return bool(changes)

    # Commands

    def run(
        self, command: Sequence[str] | str, *, what: str = "", deadline_s: float | None = None, **options: Any
    ) -> CommandResult:
        """Run a command that makes a change: argv, or a text for the shell. A dry run only records the command, as successful.

        `what` is recorded instead of the command itself, which may contain a secret. Raises InputError BOOT-200 below a root without
        programs, and UnavailableError as `resources.commands` does.
        """
        text = what or shorten_command(command)
        self.require_programs(text)
        self.record_change(f"run {text}")
        return self.run_unrecorded(command, deadline_s=deadline_s, **options)

    def run_unrecorded(
        self, command: Sequence[str] | str, *, deadline_s: float | None = None, **options: Any
    ) -> CommandResult:
        """Run a command without recording a change: the caller detects and records changes itself. Raises as `run` does."""
        self.require_programs(shorten_command(command))
        if self.is_dry_run:
            return CommandResult(0, "")
        self.machine.snapshots.forget(None)
        try:
            result = self.machine.run(_to_argv(command), deadline_s=deadline_s, **options)
        finally:
            self.machine.snapshots.forget(None)
        for line in result.output.splitlines():
            self.log("info", line)
        return result

    def must_run(self, command: Sequence[str] | str, **options: Any) -> CommandResult:
        """Run a command as `run` does. Raises UnavailableError BOOT-201 if the command fails."""
        result = self.run(command, **options)
        if not result.is_success:
            text = options.get("what") or shorten_command(command)
            output = " ".join(result.output.split())[-_MAX_SHOWN:]
            raise issues.FAILED.error(command=text, code=result.exit_code, output=output)
        return result

    def query(self, argv: Sequence[str], **options: Any) -> CommandResult:
        """Run a read-only command, also in a dry run."""
        self.require_programs(shorten_command(argv))
        return self.machine.run(argv, **options)

    def require_programs(self, what: str) -> None:
        """Raises InputError BOOT-200 if commands cannot run here."""
        if not self.has_programs:
            raise issues.NO_PROGRAMS.error(what=what, root=self.machine.root)


def _describe_change(change: Change, message: str | None) -> str:
    """Describe a change; for a sensitive one, only the fact that it was made."""
    if not change.is_sensitive:
        return message or change.message
    return "created" if change.property == "ensure" else f"{change.property} set"


def shorten_command(command: Sequence[str] | str) -> str:
    """Return a command as one short line."""
    text = command if isinstance(command, str) else shlex.join(command)
    line = " ".join(text.split())
    return line if len(line) <= _MAX_SHOWN else f"{line[:_MAX_SHOWN]}…"


def _to_argv(command: Sequence[str] | str) -> Sequence[str]:
    return ["/bin/sh", "-c", command] if isinstance(command, str) else command
