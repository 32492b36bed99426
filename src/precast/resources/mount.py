"""mount: a line in fstab, and whether the file system is mounted now."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, NamedTuple

from precast.resources import issues, issues_system, properties
from precast.resources.contract import Change, DesiredResource, Handler, Instance, ManagedNode, State
from precast.resources.properties import ABSENT, as_texts
from precast.resources.text_files import read_lines

FILE = "/etc/fstab"
MOUNTED, UNMOUNTED, GHOST, DEFINED = "mounted", "unmounted", "ghost", "defined"
_ORDER = ("device", "fstype", "options", "pass", "dump")
_DEFAULTS = {"options": "defaults", "pass": "0", "dump": "0"}


class Entry(NamedTuple):
    device: str
    place: str
    fstype: str
    options: str
    dump: str
    passes: str


def parse(line: str) -> Entry | None:
    fields = line.split()
    if len(fields) < 3 or fields[0].startswith("#"):
        return None
    fields = [_unescape(field) for field in fields]
    fields += ["defaults", "0", "0"][len(fields) - 3 :]
    return Entry(*fields[:6])


class Mount(Handler):
    can_refresh: ClassVar[bool] = True
    locks: ClassVar[tuple[str, ...]] = ("mount",)
    invalidates: ClassVar[tuple[str, ...] | None] = None  # mounting hides and shows files

    def __init__(self, resource: DesiredResource, node: ManagedNode) -> None:
        super().__init__(resource, node)
        if node.root and not node.is_chroot:
            raise issues.NOT_UNDER_ROOT.error(type="mount", root=node.root)
        self.name = str(resource.get("name", resource.title)).rstrip("/") or "/"
        if not self.name.startswith("/"):
            raise properties.invalid_value(resource, "name", self.name, "it is an absolute path")
        allowed = (DEFINED, "present", MOUNTED, UNMOUNTED, ABSENT)
        self.ensure = properties.one_of(resource, "ensure", allowed)
        if self.ensure == "present":
            self.ensure = DEFINED
        self.desired = {name: resource.parameters[name] for name in _ORDER if name in resource.parameters}
        if isinstance(self.desired.get("options"), list):
            self.desired["options"] = ",".join(as_texts(self.desired["options"]))
        self._target = str(resource.get("target", FILE))
        self._remounts = properties.read_boolean(resource, "remounts", is_default=True)
        self._is_stale = False

    def read(self) -> State:
        entry = self._entry()
        is_mounted = self._is_mounted()
        if entry is None:
            return {"ensure": GHOST if is_mounted else ABSENT}
        return {"ensure": MOUNTED if is_mounted else UNMOUNTED, **_properties(entry)}

    def _entry(self) -> Entry | None:
        entries = map(parse, read_lines(self.node, self._target).lines)
        return next((entry for entry in entries if entry is not None and entry.place == self.name), None)

    def _is_mounted(self) -> bool:
        lines = read_lines(self.node, "/proc/mounts").lines
        return any(_unescape(line.split()[1]) == self.name for line in lines if " " in line)

    def compare(self, state: State) -> Sequence[Change]:
        present = str(state["ensure"])
        if self.ensure is not None and not self._is_in_place(present):
            return (properties.make_change("ensure", present, self.ensure),)
        if present in (ABSENT, GHOST):
            return ()
        return tuple(
            properties.make_change(name, state[name], desired)
            for name, desired in self.desired.items()
            if str(state[name]) != str(desired)
        )

    def _is_in_place(self, present: str) -> bool:
        if self.ensure == DEFINED:
            return present in (MOUNTED, UNMOUNTED)
        return present == self.ensure

    def apply(self, change: Change) -> None:
        is_mounted = self._is_mounted()
        if change.property != "ensure":
            self._write(is_there=True)
            self._is_stale = is_mounted
            return
        if change.desired in (ABSENT, UNMOUNTED) and is_mounted:
            self._do(["umount", self.name])
        self._write(is_there=change.desired != ABSENT)
        if change.desired == MOUNTED and not is_mounted:
            self._do(["mount", self.name])

    def flush(self) -> None:
        """Apply changes of the line to the mounted file system too."""
        if self._is_stale:
            self._is_stale = False
            self._remount()

    def refresh(self) -> None:
        if self._is_mounted():
            self._remount()

    def _remount(self) -> None:
        if self._remounts:
            entry = self._entry()
            options = "" if entry is None or entry.options == "defaults" else f",{entry.options}"
            self._do(["mount", "-o", f"remount{options}", self.name])
        else:
            self._do(["umount", self.name])
            self._do(["mount", self.name])

    def _do(self, argv: list[str]) -> None:
        result = self.node.run(argv)
        if not result.is_success:
            output = " ".join(result.output.split())
            raise issues_system.COMMAND_FAILED.error(command=" ".join(argv), code=result.exit_code, output=output)

    def _write(self, is_there: bool) -> None:
        file = read_lines(self.node, self._target)
        lines = file.lines
        ours = [at for at, line in enumerate(lines) if (entry := parse(line)) and entry.place == self.name]
        if not is_there:
            fresh = [line for at, line in enumerate(lines) if at not in ours]
        elif ours:
            fresh = list(lines)
            fresh[ours[0]] = self._line(parse(lines[ours[0]]))
        else:
            fresh = [*lines, self._line(None)]
        if fresh != lines:
            file.write(self.node, fresh)

    def _line(self, present: Entry | None) -> str:
        state = {**_DEFAULTS, **({} if present is None else _properties(present)), **self.desired}
        for name in ("device", "fstype"):
            if name not in state:
                raise issues.MISSING_VALUE.error(name=name, reason="a line in fstab has one", type="mount")
        fields = [state["device"], self.name, state["fstype"], state["options"], state["dump"], state["pass"]]
        return "\t".join(_escape(str(field)) for field in fields)

    @classmethod
    def instances(cls, node: ManagedNode) -> Iterable[Instance]:
        for line in read_lines(node, FILE).lines:
            entry = parse(line)
            if entry is not None and entry.place.startswith("/"):
                state = cls(DesiredResource("mount", entry.place, {}), node).read()
                yield Instance(entry.place, {**state, "provider": "parsed", "target": FILE})


def _properties(entry: Entry) -> dict[str, Any]:
    return {
        "device": entry.device,
        "fstype": entry.fstype,
        "options": entry.options,
        "pass": entry.passes,
        "dump": entry.dump,
    }


def _unescape(field: str) -> str:
    """Decode blanks and other special characters, which fstab writes in octal."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), field)


def _escape(field: str) -> str:
    return re.sub(r"[ \t\n\\]", lambda match: f"\\{ord(match[0]):03o}", field)
