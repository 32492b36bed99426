"""service: whether it runs now, and at boot.

As in Puppet, a change of `ensure` also enables or disables the service, and a refresh restarts the service only if it runs.
"""

import functools
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from precast.resources import issues, issues_system, properties
from precast.resources.contract import Change, DesiredResource, Handler, Instance, ManagedNode, State
from precast.resources.service import init_systems
from precast.resources.service.init_system import FALSE, MASK, RUNNING, STOPPED, TRUE

_ENSURE = {"running": RUNNING, "true": RUNNING, "stopped": STOPPED, "false": STOPPED}
_ENABLE = (TRUE, FALSE, MASK, "manual", "delayed")


class Service(Handler):
    can_refresh: ClassVar[bool] = True
    # A service may do anything when it starts.
    invalidates: ClassVar[tuple[str, ...] | None] = None

    def __init__(self, resource: DesiredResource, node: ManagedNode) -> None:
        super().__init__(resource, node)
        if node.root and not node.is_chroot:
            raise issues.NOT_UNDER_ROOT.error(type="service", root=node.root)
        self.name = str(resource.get("name", resource.title))
        properties.refuse_option(resource, self.name)
        self.system = init_systems.choose(resource, node)
        ensure = properties.one_of(resource, "ensure", tuple(_ENSURE))
        self.ensure = None if ensure is None else _ENSURE[ensure]
        self.enable = self._checked_enable()
        self._has_status = properties.read_boolean(resource, "hasstatus", is_default=True)
        self._has_restart = properties.read_boolean(resource, "hasrestart", is_default=self.system.name == "systemd")
        self._is_fresh = False
        self._timeout_s = float(properties.number(resource, "timeout") or 300)

    def _checked_enable(self) -> str | None:
        enable = properties.one_of(self.resource, "enable", _ENABLE)
        if enable is None:
            return None
        if not self.system.can_enable:
            self.log("info", f"{self.system.name} cannot enable services; enable is not managed")
            return None
        if enable not in (TRUE, FALSE) and not (enable == MASK and self.system.can_mask):
            raise properties.invalid_value(self.resource, "enable", enable, f"{self.system.name} does not support it")
        return enable

    @property
    def runs_user_commands(self) -> bool:
        return "status" in self.resource.parameters

    @property
    def check_needs_trust(self) -> str:
        if self.runs_user_commands or "path" in self.resource.parameters or "/" in self.name:
            return "its check runs a program that the catalog names"
        return "" if self._has_status else "its check searches the machine's processes by a pattern of the catalog"

    @property
    def is_slow_to_read(self) -> bool:
        return self.system.is_slow

    @property
    def is_fresh(self) -> bool:
        return self._is_fresh

    def read(self) -> State:
        if self._command("status") is not None or not self._has_status:
            is_running = self._run("status") if self._command("status") is not None else self._has_process()
            enable = self.system.enabled(self.name) if self.enable is not None else FALSE
        else:
            condition = self.system.condition(self.name)
            is_running, enable = condition.is_running, condition.enable
        return {"ensure": RUNNING if is_running else STOPPED, "enable": self._shown(enable)}

    def _shown(self, enable: str) -> str:
        """As in Puppet, a masked service is reported as not enabled, unless the desired state is mask."""
        return FALSE if enable == MASK and self.enable != MASK else enable

    def _has_process(self) -> bool:
        """Whether a process matches the pattern, for services without a status command."""
        pattern = re.compile(str(self.resource.get("pattern", self.name)))
        return any(pattern.search(line) for line in _command_lines(self.node))

    def compare(self, state: State) -> Sequence[Change]:
        if self.ensure is not None and state["ensure"] != self.ensure:
            return (properties.make_change("ensure", state["ensure"], self.ensure),)
        return () if self._is_enable_in_sync(state["enable"]) else (self._enable_change(state["enable"]),)

    def _is_enable_in_sync(self, present: str) -> bool:
        if self.enable is None or present == self.enable:
            return True
        if self.enable == MASK:
            return False
        # A unit that cannot be enabled or disabled always counts as in sync.
        return not self.system.has_choice(self.name)

    def _enable_change(self, present: str) -> Change:
        return properties.make_change("enable", present, self.enable)

    def apply(self, change: Change) -> None:
        if change.property == "enable":
            self.system.enable(self.name, str(change.desired))
            return
        self._act("start" if change.desired == RUNNING else "stop")
        self._is_fresh = change.desired == RUNNING
        if self.enable is not None and not self._is_enable_in_sync(self._shown(self.system.enabled(self.name))):
            self.system.enable(self.name, self.enable)

    def refresh(self) -> None:
        if self.read()["ensure"] != RUNNING:
            return
        if self._command("restart") is not None or self._has_restart:
            self._act("restart")
        else:
            self._act("stop")
            self._act("start")

    def _command(self, verb: str) -> str | None:
        command = self.resource.get(verb)
        return None if command is None else str(command)

    def _act(self, verb: str) -> None:
        """Run the resource's own command for the verb, or else use the init system."""
        if self._command(verb) is None:
            action: Any = getattr(self.system, verb)
            action(self.name)
            return
        result = self.node.run(["/bin/sh", "-c", str(self._command(verb))], deadline_s=self._timeout_s)
        if not result.is_success:
            text = " ".join(result.output.split())
            raise issues_system.COMMAND_FAILED.error(command=self._command(verb), code=result.exit_code, output=text)

    def _run(self, verb: str) -> bool:
        return self.node.run(["/bin/sh", "-c", str(self._command(verb))], deadline_s=self._timeout_s).is_success

    @classmethod
    def instances(cls, node: ManagedNode) -> Iterable[Instance]:
        if node.root and not node.is_chroot:
            raise issues.NOT_UNDER_ROOT.error(type="service", root=node.root)
        system = init_systems.default(node)
        for name, condition in system.conditions(list(system.names())).items():
            ensure = RUNNING if condition.is_running else STOPPED
            yield Instance(name, {"ensure": ensure, "enable": condition.enable, "provider": system.name})


@functools.cache
def _own_process() -> str:
    return str(Path("/proc/self").resolve().name)


def _command_lines(node: ManagedNode) -> list[str]:
    """The command lines of all processes of the machine except our own."""
    lines = []
    for path in Path(node.path("/proc")).glob("[0-9]*/cmdline"):
        if path.parent.name == _own_process():
            continue
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:  # the process has ended
            continue
        lines.append(b" ".join(words).decode(errors="replace").strip())
    return lines
