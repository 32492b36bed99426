"""A node of memory for facts of modules: files, programs with their output, and a clock that only commands and sleeps move."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

from precast.lang.module_facts import evaluation
from precast.lang.module_facts.node import Account, CommandResult, DeadlinePassed, FileStatus, Group


class FakeNode:
    """Programs are named by their paths; each gives its output, or takes so many seconds."""

    def __init__(
        self, files: Mapping[str, str] | None = None, programs: Mapping[str, str | float] | None = None
    ) -> None:
        self.files = {"/bin/sh": "", **(files or {})}
        self.programs = dict(programs or {})
        self.commands: list[str] = []
        self.clock_s = 0.0
        self._deadlines: list[float] = []

    def read(self, path: str) -> str:
        if path not in self.files:
            raise FileNotFoundError(2, "No such file or directory", path)
        return self.files[path]

    def status(self, path: str, *, follows: bool = True) -> FileStatus | None:
        if path in self.files or path in self.programs:
            return FileStatus("file", 0o100755, 0, 0, len(self.files.get(path, "")), 0, 0, 0, 1, 1)
        inside = any(name.startswith(f"{path.rstrip('/')}/") for name in (*self.files, *self.programs))
        return FileStatus("directory", 0o40755, 0, 0, 0, 0, 0, 0, 1, 1) if inside else None

    def may(self, path: str, access: Literal["read", "write", "execute"]) -> bool:
        return path in self.programs if access == "execute" else path in self.files

    def names(self, path: str) -> list[str]:
        prefix = f"{path.rstrip('/')}/"
        found = {name.removeprefix(prefix).partition("/")[0] for name in self.files if name.startswith(prefix)}
        if not found:
            raise FileNotFoundError(2, "No such file or directory", path)
        return sorted(found)

    def link_target(self, path: str) -> str:
        raise OSError(22, "Invalid argument", path)

    def real_path(self, path: str) -> str:
        return path

    def run(
        self,
        command: str | list[str],
        environment: Mapping[str, str],
        *,
        timeout_s: float | None = None,
        stdin: str = "",
    ) -> CommandResult:
        text = command if isinstance(command, str) else " ".join(command)
        self.commands.append(text)
        program = self.programs.get(text.split(" ")[0])
        if program is None:
            raise FileNotFoundError(2, "No such file or directory", text)
        if isinstance(program, float):
            if timeout_s is not None and timeout_s < program:
                self._pass(timeout_s)
                raise TimeoutError
            self._pass(program)
            program = ""
        return CommandResult(program, "", 0)

    def environment(self) -> dict[str, str]:
        return {"PATH": "/usr/bin:/bin", "HOME": "/"}

    def account(self, key: str | int) -> Account | None:
        return Account("root", 0, 0, "", "/root", "/bin/sh") if key in ("root", 0) else None

    def group(self, key: str | int) -> Group | None:
        return Group("root", 0, ()) if key in ("root", 0) else None

    def ids(self) -> tuple[int, int, int]:
        return 0, 0, 99

    def hostname(self) -> str:
        return "web1"

    def now_ns(self) -> int:
        return 1_700_000_000_000_000_000

    def elapsed_s(self) -> float:
        return self.clock_s

    def sleep(self, seconds: float) -> None:
        self._pass(seconds)

    def within(self, seconds: float, work: Callable[[], Any]) -> Any:
        self._deadlines.append(self.clock_s + seconds)
        try:
            return work()
        finally:
            self._deadlines.pop()

    def _pass(self, seconds: float) -> None:
        """Let time pass, up to the earliest deadline."""
        until = min(self._deadlines, default=float("inf"))
        self.clock_s = min(self.clock_s + seconds, until)
        if self.clock_s >= until:
            raise DeadlinePassed


FACTS: dict[str, Any] = {
    "kernel": "Linux",
    "os": {"name": "Debian", "family": "Debian", "release": {"major": "12", "full": "12.11"}},
    "osfamily": "Debian",
    "operatingsystem": "Debian",
    "operatingsystemmajrelease": "12",
}


class Outcome:
    """The facts that come from modules, and the problems, as (kind, name, place, reason)."""

    def __init__(self, node: FakeNode, files: Mapping[str, str], external: Mapping[str, Any] | None = None) -> None:
        given = evaluation.Given(files, FACTS, external or {}, 60.0)
        found = list(evaluation.evaluate(node, given))
        self.facts = {each["fact"]: each["value"] for each in found if "fact" in each}
        self.problems = [
            (each["problem"], each["name"], each["place"], each["reason"]) for each in found if "fact" not in each
        ]


def read(
    code: str | Mapping[str, str], node: FakeNode | None = None, external: Mapping[str, Any] | None = None
) -> Outcome:
    """Read the facts of a file of the module m, or of files by path."""
    files = {"m/lib/facter/x.rb": code} if isinstance(code, str) else code
    return Outcome(node or FakeNode(), files, external)
