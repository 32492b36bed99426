"""The same manifests on two copies of this machine, one for `puppet apply`, one for Precast."""

import json
import re
import stat
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lab.overlay import OverlayRoot

# Types that Debian packages apart from Puppet; without the hundred other modules (and their facts) Puppet starts in seconds.
MODULES = ("cron_core", "host_core", "mount_core", "sshkeys_core")
MODULE_PATH = "/var/lib/few-modules"
PRECAST = [str(Path(sys.executable).with_name("python")), "-m", "precast"]

# What the two programs and the tests write for themselves.
_OWN_STATE = ("/root", "/tmp", "/var/tmp", "/var/lib/few-modules", "/var/lib/puppet", "/var/lib/precast", "/var/cache", "/var/log",
              "/etc/puppet", "/usr/local/sbin/link-modules", "/run", "/.precast")  # fmt: skip

# A resource inside of a define has the define before it.
_TITLE = r"(?:(?!\]/\w+\[).)*?"
_EVENT = re.compile(rf"^(?:Notice|Error): /Stage\[main\]/Main/(?:\w+\[{_TITLE}\]/)*?(\w+)\[({_TITLE})\]/(\w+): (.*)$")

# Type, title, property, message.
Event = tuple[str, str, str, str]


class TwoRoots:
    """What each did to its copy. Precast sees modules only if others than those of Puppet's own types are given."""

    def __init__(self, base: Path, modules: Sequence[str] = MODULES) -> None:
        self.puppet = OverlayRoot(base / "puppet")
        self.precast = OverlayRoot(base / "precast")
        links = "\n".join(f"ln -sfn /usr/share/puppet/modules/{name} {MODULE_PATH}/" for name in modules)
        self.write("/usr/local/sbin/link-modules", f"mkdir -p {MODULE_PATH}\n{links}\n")
        self._options = ["--modulepath", MODULE_PATH] if set(modules) - set(MODULES) else []

    def both(self) -> tuple[OverlayRoot, OverlayRoot]:
        return self.puppet, self.precast

    def write(self, path: str, text: str, mode: int = 0o644) -> None:
        for root in self.both():
            root.write(path, text, mode)

    def by_puppet(
        self, manifests: Sequence[str], root: OverlayRoot | None = None, is_booted: bool = False
    ) -> list[list[Event]]:
        """The events of each manifest, applied one after the other in one copy."""
        where = root or self.puppet
        where.write("/usr/local/sbin/link-modules", self.puppet.read("/usr/local/sbin/link-modules"))
        for at, text in enumerate(manifests):
            where.write(f"/root/{at}.pp", text)
        command = f"puppet apply --color=false --show_diff --modulepath {MODULE_PATH}"
        script = "sh /usr/local/sbin/link-modules; "
        script += " ".join(f"echo '== {at}'; {command} /root/{at}.pp 2>&1;" for at in range(len(manifests)))
        run = where.run_booted if is_booted else where.run
        output = run(["sh", "-c", script], timeout_s=300).stdout
        parts = output.split("== ")[1:]
        assert len(parts) == len(manifests), output[-2000:]
        assert all("Applied catalog in" in part for part in parts), output[-2000:]
        return [_puppets_events(part) for part in parts]

    def by_precast(self, manifests: Sequence[str], is_booted: bool = False) -> list[list[Event]]:
        for at, text in enumerate(manifests):
            self.precast.write(f"/root/{at}.pp", text)
        command = " ".join([*PRECAST, "apply", "--json", *self._options])
        script = "sh /usr/local/sbin/link-modules; "
        script += " ".join(f"{command} /root/{at}.pp > /root/{at}.json;" for at in range(len(manifests)))
        run = self.precast.run_booted if is_booted else self.precast.run
        said = run(["sh", "-c", script], timeout_s=300).stdout
        found = []
        for at in range(len(manifests)):
            text = self.precast.read(f"/root/{at}.json")
            assert text, said
            found.append(_our_events(json.loads(text)))
        return found

    def listed_by_puppet(self, kinds: Sequence[str]) -> str:
        """All there is of some types, as code."""
        command = f"puppet resource --color=false --modulepath {MODULE_PATH}"
        return self.puppet.run(["sh", "-c", "; ".join(f"{command} {kind}" for kind in kinds)], timeout_s=300).stdout

    def listed_by_precast(self, kinds: Sequence[str]) -> str:
        command = " ".join([*PRECAST, "resource", "--show-secrets"])
        return self.precast.run(["sh", "-c", "; ".join(f"{command} {kind}" for kind in kinds)]).stdout


def _puppets_events(output: str) -> list[Event]:
    found = (_EVENT.match(line) for line in output.splitlines())
    return [(each[1], each[2], each[3], _without_reason(each[4])) for each in found if each is not None]


def _our_events(report: dict[str, Any]) -> list[Event]:
    found = []
    for event in (event for resource in report["resources"] for event in resource.get("events", ())):
        kind, _, title = event["resource"].partition("[")
        if "property" in event:
            found.append((kind, title[:-1], event["property"], _without_reason(event["message"])))
    return found


def _without_reason(message: str) -> str:
    """Why something failed is told in words of one's own."""
    return re.sub(r" failed: .*", " failed", message)


def written_tree(root: OverlayRoot) -> dict[str, tuple[str, str, str]]:
    """Everything that was written in a copy: kind and mode, owner, content or target; without the programs' own state."""
    upper, found = root.base / "upper", {}
    for place in sorted(upper.rglob("*")):
        path = f"/{place.relative_to(upper)}"
        if path.startswith(_OWN_STATE) or path.endswith(".pyc"):
            continue
        status = place.lstat()
        what = ""
        if stat.S_ISLNK(status.st_mode):
            what = str(place.readlink())
        elif stat.S_ISREG(status.st_mode):
            what = place.read_bytes().decode(errors="backslashreplace")
        found[path] = (stat.filemode(status.st_mode), f"{status.st_uid}:{status.st_gid}", what)
    return found


def meaningful(text: str) -> list[str]:
    """A crontab's or hosts' lines without headings, with blanks alike."""
    lines = (" ".join(line.split()) for line in text.splitlines())
    skipped = ("# HEADER", "# DO NOT EDIT", "# (", "# (Cron")
    return [line for line in lines if line and not line.startswith(skipped)]


def without_day(shadow: str) -> list[str]:
    """Lines of the shadow file without the day of the last change."""
    return [":".join([*line.split(":")[:2], *line.split(":")[3:]]) for line in shadow.splitlines()]
