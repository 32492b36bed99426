"""exec: a command that runs when it is needed. Its guards are the check; they are a user's commands, so they run in their turn.

A command given as text is split as a shell would, but no shell runs it unless the provider is `shell`; one given as an array is run
as it is.
"""

import re
import shlex
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from precast.base.commands import SEARCH_PATH
from precast.base.errors import PrecastError
from precast.resources import commands, issues, issues_engine
from precast.resources.contract import Change, Completed, Handler, Node, State, Wanted

_NOT_RUN = "notrun"


class Exec(Handler):
    can_refresh: ClassVar[bool] = True

    def __init__(self, wanted: Wanted, node: Node) -> None:
        super().__init__(wanted, node)
        if node.root and not node.is_chroot:
            raise issues.NOT_UNDER_ROOT.error(type="exec", root=node.root)
        self._command = wanted.get("command", wanted.title)
        self._is_shell = self._provider() == "shell"
        self._path = self._search_path()
        self._timeout_s = self._number("timeout", 300)
        self._tries = int(self._number("tries", 1)) or 1
        self._try_sleep_s = self._number("try_sleep", 0)
        self._returns = [str(each) for each in _listed(wanted.get("returns", "0"))]
        self._check_path(self._command)
        for name in ("onlyif", "unless"):
            for guard in self._guards(name):
                self._check_path(guard)

    @property
    def runs_user_commands(self) -> bool:
        return not self._is_refresh_only and ("onlyif" in self.wanted.parameters or "unless" in self.wanted.parameters)

    @property
    def _is_refresh_only(self) -> bool:
        return self.wanted.get("refreshonly") in (True, "true")

    def read(self) -> State:
        wants = not self._is_refresh_only and self._is_needed()
        return {"returns": _NOT_RUN if wants else self._returns[0]}

    def compare(self, state: State) -> Sequence[Change]:
        if state["returns"] != _NOT_RUN:
            return ()
        return (Change("returns", _NOT_RUN, self._returns, "executed successfully", is_sensitive=False),)

    def apply(self, change: Change) -> None:
        self._execute(self._command)

    def refresh(self) -> None:
        if self._is_needed():
            self._execute(self.wanted.get("refresh", self._command))

    def _is_needed(self) -> bool:
        """Whether all guards want it to run, asked in Puppet's order."""
        if any(Path(self.node.path(path)).exists() for path in self._creates()):
            return False
        if any(self._passes(guard) for guard in self._guards("unless")):
            return False
        return all(self._passes(guard) for guard in self._guards("onlyif"))

    def _creates(self) -> list[str]:
        return [str(each) for each in _listed(self.wanted.get("creates"))]

    def _guards(self, name: str) -> list[Any]:
        """Guards are one or several; each is text, or an array of words inside an array."""
        given = self.wanted.get(name)
        if given is None:
            return []
        if isinstance(given, list):
            return given
        return [given]

    def _passes(self, guard: Any) -> bool:
        try:
            ended = self._start(guard)
        except PrecastError as error:
            if issues.TOO_SLOW.matches(error):
                self.say("err", f"Check {_text(guard)} exceeded timeout")
                return False
            raise
        for line in ended.output.splitlines():
            self.say("debug", line)
        return ended.is_success

    def _execute(self, command: Any) -> None:
        shown = "[command redacted]" if self.wanted.secrets & {"command", "environment"} else f"'{_text(command)}'"
        for left in range(self._tries - 1, -1, -1):
            ended = self._start(command)
            is_good = str(ended.exit_code) in self._returns
            self._log_output(ended, is_good)
            if is_good:
                return
            if left and self._try_sleep_s:
                time.sleep(self._try_sleep_s)
        raise issues_engine.WRONG_EXIT.error(
            command=shown, exit_code=ended.exit_code, wanted=f"[{','.join(self._returns)}]"
        )

    def _log_output(self, ended: Completed, is_good: bool) -> None:
        wish = str(self.wanted.get("logoutput", "on_failure"))
        if wish == "true" or (wish == "on_failure" and not is_good):
            secret = bool(self.wanted.secrets & {"command", "environment"})
            for line in ended.output.splitlines():
                self.say("notice", "[output redacted]" if secret else line)

    def _start(self, command: Any) -> Completed:
        wanted = self.wanted
        return self.node.run(
            self._words(command),
            deadline_s=self._timeout_s or None,
            environment=self._environment(),
            directory=wanted.get("cwd"),
            user=wanted.get("user"),
            group=None if wanted.get("group") is None else str(wanted.get("group")),
            umask=None if wanted.get("umask") is None else int(str(wanted.get("umask")), 8),
        )

    def _words(self, command: Any) -> list[str]:
        if isinstance(command, list):
            return [str(word) for word in command]
        if self._is_shell:
            return ["/bin/sh", "-c", command]
        if _NEEDS_SHELL.isdisjoint(command):
            return shlex.split(command)
        # As with Puppet's posix provider: what has a shell's signs is given to one, if the program it begins with is there.
        if not commands.is_there(_program(command), self.node.root, self._path or SEARCH_PATH):
            raise issues.CANNOT_START.error(program=_program(command), reason="there is no such program")
        return ["/bin/sh", "-c", command]

    def _environment(self) -> Mapping[str, str]:
        found = dict(pair.partition("=")[::2] for pair in map(str, _listed(self.wanted.get("environment"))))
        if self._path:
            found["PATH"] = self._path
        return found

    def _search_path(self) -> str:
        parts = [part for each in _listed(self.wanted.get("path")) for part in str(each).split(":")]
        return ":".join(parts)

    def _provider(self) -> str:
        provider = str(self.wanted.get("provider", "posix"))
        if provider not in ("posix", "shell"):
            raise issues.NO_PROVIDER.error(type="exec", provider=provider, providers="posix, shell")
        return provider

    def _check_path(self, command: Any) -> None:
        """Raises RESOURCE-020 for a program without its path where no search path is given."""
        if self._is_shell or self._path:
            return
        if not _program(command).startswith("/"):
            raise issues_engine.NO_PATH.error(command=_text(command))

    def _number(self, name: str, default: float) -> float:
        value = self.wanted.get(name, default)
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = -1.0
        if number < 0 and name != "timeout":
            raise issues.BAD_VALUE.error(name=name, value=repr(value), wanted="it must be a number", type="exec")
        return max(number, 0.0)


_QUOTED = re.compile(r"""^"([^"]+)"|^'([^']+)'""")
_NEEDS_SHELL = frozenset("|&;<>()$`\\\"'*?[]#~%!{}\n=")


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _program(command: Any) -> str:
    """What a command begins with, also between quotes."""
    if isinstance(command, list):
        return str(command[0]) if command else ""
    found = _QUOTED.match(command)
    return found[1] or found[2] if found else str(command).split(" ")[0]


def _text(command: Any) -> str:
    return " ".join(map(str, command)) if isinstance(command, list) else str(command)
