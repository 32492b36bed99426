"""What a module's function works with: its configuration, the machine below the root, and what the data source gave.

Everything that changes something goes through here, so that a dry run changes nothing: it says what would be done. What exists as a
resource type is brought about by that type's own handler, the same that applies catalogs.
"""

import os
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from precast.agent.applying.machine import Machine
from precast.base import files
from precast.boot.capabilities import Capability
from precast.boot.modules import issues
from precast.boot.modules.outcomes import Outcome
from precast.boot.userdata.documents import Script
from precast.resources import registry
from precast.resources.contract import Change, CommandResult, DesiredResource
from precast.resources.files import safe_paths

Log = Callable[[str, str], None]  # level and text; where it goes only root can read
_MAX_SHOWN = 200


class Context:
    """For one run of one module or part. `values` has the capabilities it needs and uses, as far as there are any."""

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
    ) -> None:
        self.machine = machine
        self.config = config
        self.values = values
        self.instance_directory = instance_directory  # of this instance, root-only, root included
        self.log = log
        self.is_dry_run = is_dry_run
        self.scripts = scripts
        self.outcome = Outcome()

    @property
    def root(self) -> Path:
        return Path(self.machine.root or "/")

    @property
    def has_programs(self) -> bool:
        """Whether commands can be run: on the machine itself, or inside a root that holds a whole system."""
        return not self.machine.root or self.machine.is_chroot

    def value(self, capability: Capability, default: Any = None) -> Any:
        """What the data source gave under a capability."""
        return self.values.get(capability, default)

    def warn(self, text: str) -> None:
        self.outcome.warnings.append(text)

    def changed(self, text: str) -> None:
        self.outcome.changes.append(text)

    # Files

    def read(self, path: str) -> bytes | None:
        """The content of a file below the root; None if there is none."""
        try:
            return Path(safe_paths.resolve(self.machine.root, path, is_followed=True)).read_bytes()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None

    def read_text(self, path: str) -> str:
        """The same as text; empty if there is no such file."""
        return (self.read(path) or b"").decode(errors="surrogateescape")

    def is_there(self, path: str) -> bool:
        return Path(safe_paths.resolve(self.machine.root, path, is_followed=True)).exists()

    def write(self, path: str, data: bytes, mode: int = 0o644, owner: str = "root", group: str = "") -> bool:
        """Set a file in place, with the directories that lead to it; whether something changed."""
        self.make_directories(path.rpartition("/")[0])
        wanted: dict[str, Any] = {"ensure": "file", "content": data, "mode": f"{mode:04o}", "show_diff": False}
        return self.ensure("file", path, {**wanted, **self.ownership(owner, group)}, {"content"})

    def ownership(self, owner: str, group: str = "") -> dict[str, Any]:
        """Parameters of a file for an owner and group; who is not root can only keep their own."""
        if os.geteuid() != 0:
            return {}
        # By number where it is known: a root that is being made may have no users yet.
        given = {name: "0" if each == "root" else each for name, each in (("owner", owner), ("group", group))}
        return {name: each for name, each in given.items() if each}

    def make_directories(self, path: str, mode: int = 0o755) -> None:
        """A directory and those above it, as far as they are not there."""
        missing = []
        while path.strip("/") and not self.is_there(path):
            missing.append(path)
            path = path.rpartition("/")[0]
        for each in reversed(missing):
            self.ensure("file", each, {"ensure": "directory", "mode": f"{mode:04o}"})

    def remove(self, path: str) -> bool:
        """Remove a file or link; whether there was one."""
        return self.ensure("file", path, {"ensure": "absent"})

    def keep(self, name: str, data: bytes) -> str:
        """Put a program in the directory of this instance; its path inside the root, to be run. A dry run only says where."""
        place = self.instance_directory / name
        if not self.is_dry_run:
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            files.write_owned(place, data, 0o700, (0, 0))
        return str(place).removeprefix(self.machine.root)

    # Resources

    def ensure(self, type_name: str, title: str, parameters: Mapping[str, Any], secrets: Collection[str] = ()) -> bool:
        """Bring a resource to what is wanted; whether something changed. Raises PrecastError or OSError, as its handler does."""
        found = registry.find(type_name)
        if found is None:
            raise issues.NO_TYPE.error(type=type_name)
        resource = DesiredResource(type_name, title, parameters, frozenset(secrets))
        handler = found(resource, self.machine)
        changes = handler.compare(handler.read())
        for change in changes:
            said = None
            if not self.is_dry_run:
                self.machine.snapshots.forget(handler.invalidates)
                try:
                    said = handler.apply(change)
                finally:
                    self.machine.snapshots.forget(handler.invalidates)
            self.changed(f"{resource.ref}: {_told(change, said)}")
        if changes and not self.is_dry_run:
            handler.flush()
        for level, text in handler.take_logs():
            self.log(level, f"{resource.ref}: {text}")
        return bool(changes)

    # Commands

    def run(
        self, command: Sequence[str] | str, *, what: str = "", deadline_s: float | None = None, **options: Any
    ) -> CommandResult:
        """Run a command that changes something: argv, or a text for the shell. In a dry run it is only told, and has succeeded.

        `what` is told instead of the command itself, if that could hold a secret. Raises InputError BOOT-200 below a root without
        programs, and UnavailableError as `resources.commands` does.
        """
        text = what or shown(command)
        self.check_programs(text)
        self.changed(f"run {text}")
        return self.run_untold(command, deadline_s=deadline_s, **options)

    def run_untold(
        self, command: Sequence[str] | str, *, deadline_s: float | None = None, **options: Any
    ) -> CommandResult:
        """The same without a word: for who sees by itself whether something changed, and tells that. Raises as `run` does."""
        self.check_programs(shown(command))
        if self.is_dry_run:
            return CommandResult(0, "")
        self.machine.snapshots.forget(None)
        try:
            done = self.machine.run(_words(command), deadline_s=deadline_s, **options)
        finally:
            self.machine.snapshots.forget(None)
        for line in done.output.splitlines():
            self.log("info", line)
        return done

    def must_run(self, command: Sequence[str] | str, **options: Any) -> CommandResult:
        """The same, and it must succeed. Raises UnavailableError BOOT-201 if it does not."""
        done = self.run(command, **options)
        if not done.is_success:
            text = options.get("what") or shown(command)
            output = " ".join(done.output.split())[-_MAX_SHOWN:]
            raise issues.FAILED.error(command=text, code=done.exit_code, output=output)
        return done

    def ask(self, argv: Sequence[str], **options: Any) -> CommandResult:
        """Run a command that only looks: in a dry run too."""
        self.check_programs(shown(argv))
        return self.machine.run(argv, **options)

    def check_programs(self, what: str) -> None:
        """Raises InputError BOOT-200 where no command can be run."""
        if not self.has_programs:
            raise issues.NO_PROGRAMS.error(what=what, root=self.machine.root)


def _told(change: Change, said: str | None) -> str:
    """What is said of a change; of a secret one only that it was made."""
    if not change.is_sensitive:
        return said or change.message
    return "created" if change.property == "ensure" else f"{change.property} set"


def shown(command: Sequence[str] | str) -> str:
    """A command in one short line."""
    text = command if isinstance(command, str) else shlex.join(command)
    line = " ".join(text.split())
    return line if len(line) <= _MAX_SHOWN else f"{line[:_MAX_SHOWN]}…"


def _words(command: Sequence[str] | str) -> Sequence[str]:
    return ["/bin/sh", "-c", command] if isinstance(command, str) else command
