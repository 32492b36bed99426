"""Collects evidence about the platform from small local files, which saves requests to services that do not exist."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from precast.base.errors import PrecastError
from precast.boot.sources import labels
from precast.boot.sources.contract import Evidence
from precast.resources.files import safe_paths, safe_reads

DMI = "/sys/class/dmi/id"
DMI_NAMES = (
    "sys_vendor", "product_name", "product_serial", "product_uuid", "product_version", "chassis_asset_tag", "chassis_vendor",
    "board_vendor", "bios_vendor",
)  # fmt: skip
LABELS = "/dev/disk/by-label"
DISKS = "/sys/class/block"
# The labels that sources look for; others are ignored.
WANTED = frozenset({"cidata", "config-2"})
_MAX_DISKS = 64
LXD = "/dev/lxd/sock"
_MAX_BYTES = 16 * 1024


def collect(root: Path, image: Mapping[str, Any] | None = None) -> Evidence:
    """Return the evidence below a root. Unreadable files count as missing: only root can read serial numbers.

    `image` is the map below `datasource` in the image's configuration.
    """
    base = "" if root == Path("/") else str(root)
    dmi = {name: text for name in DMI_NAMES if (text := _read_line(base, f"{DMI}/{name}"))}
    evidence = Evidence(
        dmi=dmi, command_line=_read_line(base, "/proc/cmdline"), has_lxd=_exists(base, LXD), image=image or {}
    )
    label = evidence.of_image("NoCloud").get("fs_label")
    wanted = WANTED | ({label.lower()} if isinstance(label, str) else set())
    return replace(evidence, labels=_find_labels(base, wanted))


def _read_line(base: str, path: str) -> str:
    try:
        content = safe_reads.read_file(safe_reads.root_parents(base), path, max_bytes=_MAX_BYTES)
    except (OSError, PrecastError):
        return ""
    return "" if content is None else content.data.decode(errors="replace").strip("\n\0 ")


def _exists(base: str, path: str) -> bool:
    try:
        return safe_reads.exists(safe_reads.root_parents(base), path)
    except (OSError, PrecastError):
        return False


def _find_labels(base: str, wanted: frozenset[str]) -> dict[str, Path]:
    """Return the labels that udev knows, and those of disks that udev has not probed yet."""
    known = _read_udev_labels(base)
    disks = [Path(safe_paths.resolve(base, f"/dev/{name}")) for name in _list_names(base, DISKS)]
    for disk in disks[:_MAX_DISKS]:
        if disk not in known.values() and (label := labels.read_label(disk)) in wanted:
            known.setdefault(label, disk)
    return known


def _list_names(base: str, directory: str) -> list[str]:
    try:
        return safe_reads.list_names(safe_reads.root_parents(base), directory)
    except (OSError, PrecastError):
        return []


def _read_udev_labels(base: str) -> dict[str, Path]:
    """Return udev's labels by device. It escapes unusual characters as \\x and two digits; our labels have none."""
    names = _list_names(base, LABELS)
    devices = {name.lower(): Path(safe_paths.resolve(base, f"{LABELS}/{name}")) for name in names}
    return {label: device.resolve() if not base else device for label, device in devices.items()}
