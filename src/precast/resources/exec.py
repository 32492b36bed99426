"""exec: a command that runs when it is needed. Its guards decide that; they are a user's commands, so they run in the resource's turn.

A command given as text is split into words as a shell would, but no shell runs it unless the provider is `shell`; a command given as an
array is run without splitting.
"""

import re
import shlex
import time
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from precast.base.errors import PrecastError
from precast.base.programs import SEARCH_PATH
from precast.resources import commands, issues, issues_engine
from precast.resources.contract import Change, CommandResult, DesiredResource, Handler, ManagedNode, State
from precast.resources.files import safe_reads

_NOT_RUN = "notrun"


class Exec(Handler):
    can_refresh: ClassVar[bool] = True

    def __init__(self, resource: DesiredResource, node: ManagedNode) -> None:
        super().__init__(resource, node)
        if node.root and not node.is_chroot:
            raise issues.NOT_UNDER_ROOT.error(type="exec", root=node.root)
        self._command = resource.get("command", resource.title)
        self._is_shell = self._provider() == "shell"
        self._path = self._search_path()
        self._timeout_s = self._number("timeout", 300)
        self._tries = int(self._number("tries", 1)) or 1
        self._try_sleep_s = self._number("try_sleep", 0)
        self._returns = [str(code) for code in _as_list(resource.get("returns", "0"))]
        self._check_path(self._command)
        for name in ("onlyif", "unless"):
            for guard in self._guards(name):
                self._check_path(guard)

    @property
    def runs_user_commands(self) -> bool:
        return not self._is_refresh_only and (
            "onlyif" in self.resource.parameters or "unless" in self.resource.parameters
        )

    @property
    def _is_refresh_only(self) -> bool:
        return self.resource.get("refreshonly") in (True, "true")

    def read(self) -> State:
        is_due = not self._is_refresh_only and self._is_needed()
        return {"returns": _NOT_RUN if is_due else self._returns[0]}

    def compare(self, state: State) -> Sequence[Change]:
        if state["returns"] != _NOT_RUN:
            return ()
        return (Change("returns", _NOT_RUN, self._returns, "executed successfully", is_sensitive=False),)

    def apply(self, change: Change) -> None:
        self._execute(self._command)

    def refresh(self) -> None:
        if self._is_needed():
            self._execute(self.resource.get("refresh", self._command))

    def _is_needed(self) -> bool:
        """Whether all guards let it run, evaluated in Puppet's order."""
        parents = safe_reads.node_parents(self.node)
        if any(safe_reads.exists(parents, path) for path in self._creates()):
            return False
        if any(self._passes(guard) for guard in self._guards("unless")):
            return False
        return all(self._passes(guard) for guard in self._guards("onlyif"))

    def _creates(self) -> list[str]:
        return [str(path) for path in _as_list(self.resource.get("creates"))]

    def _guards(self, name: str) -> list[Any]:
        """One or several guards; each is text, or an array of words inside an array."""
        given = self.resource.get(name)
        if given is None:
            return []
        if isinstance(given, list):
            return given
        return [given]

    def _passes(self, guard: Any) -> bool:
        try:
            result = self._start(guard)
        except PrecastError as error:
            if issues.TOO_SLOW.matches(error):
                self.log("err", f"Check {self._shown(guard)} exceeded timeout")
                return False
            raise
        for line in result.output.splitlines():
            self.log("debug", self._shown_output(line))
        return result.is_success

    def _shown(self, command: Any) -> str:
        """A command as errors show it. The programs that a command with a secret starts know the secret, so nothing of it is shown."""
        return "[command redacted]" if self.resource.secrets else _text(command)

    def _shown_output(self, line: str) -> str:
        return "[output redacted]" if self.resource.secrets else line

    def _execute(self, command: Any) -> None:
        shown = self._shown(command) if self.resource.secrets else f"'{_text(command)}'"
        for left in range(self._tries - 1, -1, -1):
            result = self._start(command)
            is_good = str(result.exit_code) in self._returns
            self._log_output(result, is_good)
            if is_good:
                return
            if left and self._try_sleep_s:
                time.sleep(self._try_sleep_s)
        raise issues_engine.WRONG_EXIT.error(
            command=shown, exit_code=result.exit_code, wanted=f"[{','.join(self._returns)}]"
        )

    def _log_output(self, result: CommandResult, is_good: bool) -> None:
        logoutput = str(self.resource.get("logoutput", "on_failure"))
        if logoutput == "true" or (logoutput == "on_failure" and not is_good):
            for line in result.output.splitlines():
                self.log("notice", self._shown_output(line))

    def _start(self, command: Any) -> CommandResult:
        resource = self.resource
        return self.node.run(
            self._words(command),
            deadline_s=self._timeout_s or None,
            environment=self._environment(),
            directory=resource.get("cwd"),
            user=resource.get("user"),
            group=None if resource.get("group") is None else str(resource.get("group")),
            umask=None if resource.get("umask") is None else int(str(resource.get("umask")), 8),
        )

    def _words(self, command: Any) -> list[str]:
        if isinstance(command, list):
            return [str(word) for word in command]
        if self._is_shell:
            return ["/bin/sh", "-c", command]
        if _NEEDS_SHELL.isdisjoint(command):
            return shlex.split(command)
        # As in Puppet's posix provider: a command with special characters of the shell runs in a shell, if its program exists.
        if not commands.has_program(_program(command), self.node.root, self._path or SEARCH_PATH):
            program = self._shown(_program(command))
            raise issues.CANNOT_START.error(program=program, reason="there is no such program")
        return ["/bin/sh", "-c", command]

    def _environment(self) -> Mapping[str, str]:
        pairs = map(str, _as_list(self.resource.get("environment")))
        variables = dict(pair.partition("=")[::2] for pair in pairs)
        if self._path:
            variables["PATH"] = self._path
        return variables

    def _search_path(self) -> str:
        parts = [part for text in _as_list(self.resource.get("path")) for part in str(text).split(":")]
        return ":".join(parts)

    def _provider(self) -> str:
        provider = str(self.resource.get("provider", "posix"))
        if provider not in ("posix", "shell"):
            raise issues.NO_PROVIDER.error(type="exec", provider=provider, providers="posix, shell")
        return provider

    def _check_path(self, command: Any) -> None:
        """Raises RESOURCE-020 for a program without its path where no search path is given."""
        if self._is_shell or self._path:
            return
        if not _program(command).startswith("/"):
            raise issues_engine.NO_PATH.error(command=self._shown(command))

    def _number(self, name: str, default: float) -> float:
        value = self.resource.get(name, default)
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = -1.0
        if number < 0 and name != "timeout":
            raise issues.BAD_VALUE.error(name=name, value=repr(value), wanted="it must be a number", type="exec")
        return max(number, 0.0)


_QUOTED = re.compile(r"""^"([^"]+)"|^'([^']+)'""")
_NEEDS_SHELL = frozenset("|&;<>()$`\\\"'*?[]#~%!{}\n=")


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _program(command: Any) -> str:
    """The first word of a command, also in quotes."""
    if isinstance(command, list):
        return str(command[0]) if command else ""
    match = _QUOTED.match(command)
    return match[1] or match[2] if match else str(command).split(" ")[0]


def _text(command: Any) -> str:
    return " ".join(map(str, command)) if isinstance(command, list) else str(command)
