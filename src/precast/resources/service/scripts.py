"""Init scripts: those of System V, as Debian and Red Hat enable them, and those of OpenRC."""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

from precast.resources import issues_system
from precast.resources.service.init_system import FALSE, TRUE, Condition, InitSystem

_LEVELS = ("2", "3", "4", "5")
_NO_SERVICES = frozenset(
    ("rc", "rcS", "rc.local", "skeleton", "README", "functions", "halt", "reboot", "single", "killall")
)


class Scripts(InitSystem):
    """Scripts with the verbs start, stop and status. Plain scripts cannot be enabled."""

    name: ClassVar[str] = "init"
    can_enable: ClassVar[bool] = False
    directories: ClassVar[tuple[str, ...]] = ("/etc/init.d", "/etc/rc.d/init.d")

    def condition(self, name: str) -> Condition:
        path = self.find(name)
        is_running = path is not None and self.node.run([path, "status"]).is_success
        return Condition(is_running, self.enabled(name))

    def enabled(self, name: str) -> str:
        return FALSE

    def find(self, name: str) -> str | None:
        """The script's path on the machine; None if it does not exist."""
        directories = self.paths or self.directories
        paths = (f"{directory}/{name}{suffix}" for directory in directories for suffix in ("", ".sh"))
        return next((path for path in paths if os.path.lexists(self.node.path(path))), None)

    def _script(self, name: str) -> str:
        path = self.find(name)
        if path is None:
            raise issues_system.NO_SCRIPT.error(name=name, places=", ".join(self.paths or self.directories))
        return path

    def start(self, name: str) -> None:
        self.do([self._script(name), "start"])

    def stop(self, name: str) -> None:
        self.do([self._script(name), "stop"])

    def restart(self, name: str) -> None:
        self.do([self._script(name), "restart"])

    def names(self) -> Iterable[str]:
        for place in self.paths or self.directories:
            directory = Path(self.node.path(place))
            if directory.is_dir() and not directory.is_symlink():
                yield from sorted(
                    script.name
                    for script in directory.iterdir()
                    if script.name not in _NO_SERVICES and script.name[0] != "." and os.access(script, os.X_OK)
                )


class DebianScripts(Scripts):
    name: ClassVar[str] = "debian"
    can_enable: ClassVar[bool] = True

    def enabled(self, name: str) -> str:
        """Whether a multi-user runlevel starts it."""
        start = re.compile(rf"S\d\d{re.escape(name)}")
        return TRUE if any(start.fullmatch(link) for link in self._links()) else FALSE

    def _links(self) -> list[str]:
        return self.node.snapshot("runlevels", self._read_links)

    def _read_links(self) -> list[str]:
        places = (Path(self.node.path(f"/etc/rc{level}.d")) for level in (*_LEVELS, "S"))
        return [link.name for place in places if place.is_dir() for link in place.iterdir()]

    def enable(self, name: str, value: str) -> None:
        self.do(["update-rc.d", name, "defaults"])
        self.do(["update-rc.d", name, "enable" if value == TRUE else "disable"])


class RedHatScripts(Scripts):
    name: ClassVar[str] = "redhat"
    can_enable: ClassVar[bool] = True

    def enabled(self, name: str) -> str:
        return TRUE if self.node.run(["chkconfig", name]).is_success else FALSE

    def enable(self, name: str, value: str) -> None:
        self.do(["chkconfig", "--add", name])
        self.do(["chkconfig", name, "on" if value == TRUE else "off"])


class OpenRc(Scripts):
    name: ClassVar[str] = "openrc"
    can_enable: ClassVar[bool] = True

    def condition(self, name: str) -> Condition:
        return Condition(self.node.run(["rc-service", name, "status"]).is_success, self.enabled(name))

    def enabled(self, name: str) -> str:
        """Whether any runlevel has a link to the service."""
        levels = Path(self.node.path("/etc/runlevels"))
        has_link = levels.is_dir() and any(os.path.lexists(level / name) for level in levels.iterdir())
        return TRUE if has_link else FALSE

    def start(self, name: str) -> None:
        self.do(["rc-service", name, "start"])

    def stop(self, name: str) -> None:
        self.do(["rc-service", name, "stop"])

    def restart(self, name: str) -> None:
        self.do(["rc-service", name, "restart"])

    def enable(self, name: str, value: str) -> None:
        self.do(["rc-update", "-C", "add", name] if value == TRUE else ["rc-update", "-C", "-a", "del", name])


class Commands(InitSystem):
    """No init system: the resource itself has the commands (`start`, `stop`, `status` or `pattern`)."""

    name: ClassVar[str] = "base"
    can_enable: ClassVar[bool] = False

    def condition(self, name: str) -> Condition:
        return Condition(False, FALSE)

    def start(self, name: str) -> None:
        raise issues_system.NO_SERVICE_COMMAND.error(name=name, what="start")

    def stop(self, name: str) -> None:
        raise issues_system.NO_SERVICE_COMMAND.error(name=name, what="stop")

    def restart(self, name: str) -> None:
        raise issues_system.NO_SERVICE_COMMAND.error(name=name, what="restart")

    def names(self) -> Iterable[str]:
        return ()
