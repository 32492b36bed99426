"""What tells this machine from a copy of it: its machine id, and the id of its present boot.

An operator who has to choose between two machines compares them. A server also takes another machine id for another machine, so one that
does not last is not given: systemd makes one for each boot of a system whose /etc cannot be written, and mounts it over the file.
"""

import re
from pathlib import Path
from typing import NamedTuple

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
MACHINE_ID = Path("etc/machine-id")
UNKNOWN = "unknown"
_ID = re.compile(r"[0-9a-f]{32}")


class MachineIdentity(NamedTuple):
    """The ids of a machine; the machine id is empty if there is none that lasts."""

    machine_id: str
    boot_id: str


def read_machine(root: Path) -> MachineIdentity:
    """Read the ids of the machine below a root."""
    path = root / MACHINE_ID
    machine_id = _read(path)
    lasts = _ID.fullmatch(machine_id) is not None and not path.is_mount()
    return MachineIdentity(machine_id if lasts else "", read_boot_id())


def read_boot_id() -> str:
    """Read the id of this machine's present boot."""
    return _read(BOOT_ID) or UNKNOWN


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""
