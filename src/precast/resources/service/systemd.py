"""systemd: one `systemctl show` reads the states of all services of a catalog."""

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

from precast.base.errors import PrecastError
from precast.resources.service.init_system import FALSE, MASK, TRUE, Condition, InitSystem

KIND = "systemd"
_PROPERTIES = "Id,LoadState,ActiveState,UnitFileState"
_ENABLED = frozenset(("enabled", "enabled-runtime", "static", "alias", "generated", "linked", "linked-runtime"))
# States of units that cannot be enabled or disabled, because they have no install section.
_WITHOUT_CHOICE = frozenset(("static", "indirect", "generated", "transient"))
_JOURNAL_LINES = 10


class Systemd(InitSystem):
    name: ClassVar[str] = "systemd"
    can_mask: ClassVar[bool] = True
    is_slow: ClassVar[bool] = False

    def condition(self, name: str) -> Condition:
        known = self.node.snapshot(KIND, self._read_all)
        condition = known.get(name)
        return condition if condition is not None else self.conditions([name])[name]

    def _read_all(self) -> Mapping[str, Condition]:
        services = self.node.resources("service")
        own = [service for service in services if service.get("provider", self.name) == self.name]
        names = [str(service.get("name", service.title)) for service in own]
        try:
            return self.conditions(names)
        except (
            PrecastError,
            ValueError,
        ):  # one invalid unit name fails the whole command: then each service is read alone
            return {}

    def conditions(self, names: Sequence[str]) -> Mapping[str, Condition]:
        if not names:
            return {}
        output = self.do(["systemctl", "show", "-p", _PROPERTIES, "--", *names]).output
        return dict(zip(names, parse_show(output), strict=True))

    def has_choice(self, name: str) -> bool:
        return self.condition(name).has_choice

    def start(self, name: str) -> None:
        self._reload_if_needed(name)
        if self.condition(name).enable == MASK:
            self.do(["systemctl", "unmask", "--", name])
        self._change("start", name)

    def stop(self, name: str) -> None:
        self._change("stop", name)

    def restart(self, name: str) -> None:
        self._reload_if_needed(name)
        self._change("restart", name)

    def enable(self, name: str, value: str) -> None:
        if value == MASK:
            if self.condition(name).has_choice:
                self.do(["systemctl", "disable", "--", name])
            self.do(["systemctl", "mask", "--", name])
            return
        if self.condition(name).enable == MASK:
            self.do(["systemctl", "unmask", "--", name])
        self.do(["systemctl", "enable" if value == TRUE else "disable", "--", name])

    def _reload_if_needed(self, name: str) -> None:
        """Reload systemd if the file of a unit was changed since it was read."""
        result = self.node.run(["systemctl", "show", "-p", "NeedDaemonReload", "--", name])
        if "NeedDaemonReload=yes" in result.output:
            self.do(["systemctl", "daemon-reload"])

    def _change(self, verb: str, name: str) -> None:
        try:
            self.do(["systemctl", verb, "--", name])
        except PrecastError as error:
            argv = ["journalctl", "-n", str(_JOURNAL_LINES), "--no-pager", "-q", "-o", "cat", "-u", name]
            journal = " ".join(self.node.run(argv).output.split("\n")).strip()
            if journal:
                error.message += f" (journal: {journal})"
                error.args = (error.message,)
            raise

    def names(self) -> Iterable[str]:
        listing = ["systemctl", "list-unit-files", "--type=service", "--full", "--no-legend", "--no-pager"]
        for line in self.do(listing).output.splitlines():
            name = line.split()[0]
            if "@." not in name:  # a template is not a service
                yield name


def parse_show(output: str) -> list[Condition]:
    """Parse the output of `systemctl show` for several units, in the order of the arguments."""
    return [_condition(part) for part in output.strip("\n").split("\n\n")]


def _condition(text: str) -> Condition:
    fields = dict(line.partition("=")[::2] for line in text.splitlines())
    is_running = fields.get("ActiveState") in ("active", "reloading")
    state = fields.get("UnitFileState", "")
    if state.startswith("masked") or fields.get("LoadState") == "masked":
        return Condition(is_running, MASK)
    return Condition(is_running, TRUE if state in _ENABLED else FALSE, state not in _WITHOUT_CHOICE)
