"""`disks` and `partitions`, from /sys/block; their file systems and labels come from udev's database, so that no disk is read."""

import re

from precast.agent.facts.groups.mounts import mounts
from precast.agent.facts.groups.units import human_bytes
from precast.agent.facts.machine import Facts, Machine, present

# The kernel counts in sectors of this size, whatever the sector size of the disk is.
SECTOR_BYTES = 512
_BLOCK = "/sys/block"


def collect(machine: Machine) -> Facts:
    facts: Facts = {}
    mounted = {device: path for device, path, *_ in mounts(machine)}
    disks: Facts = {}
    partitions: Facts = {}
    for name in machine.names_in(_BLOCK):
        place = f"{_BLOCK}/{name}"
        if machine.exists(f"{place}/device"):
            disks[name] = _disk(machine, place)
        for device, part in _partitions(machine, name).items():
            partitions[device] = _partition(machine, part, mounted.get(device))
    if disks:
        facts["disks"] = disks
    if partitions:
        facts["partitions"] = partitions
    return facts


def _disk(machine: Machine, place: str) -> Facts:
    udev = _udev(machine, place)
    rotates = machine.read_line(f"{place}/queue/rotational")
    return present(
        model=machine.read_line(f"{place}/device/model"),
        vendor=machine.read_line(f"{place}/device/vendor"),
        serial=udev.get("ID_SERIAL_SHORT") or machine.read_line(f"{place}/device/serial"),
        wwn=udev.get("ID_WWN"),
        type=None if rotates is None else "ssd" if rotates == "0" else "hdd",
        **_size(machine, place),
    )


def _partitions(machine: Machine, name: str) -> dict[str, str]:
    """The devices that can be mounted, with their directories in /sys: partitions of a disk, mapped devices, loop devices."""
    place = f"{_BLOCK}/{name}"
    if machine.exists(f"{place}/dm"):
        mapped = machine.read_line(f"{place}/dm/name")
        return {f"/dev/mapper/{mapped}" if mapped else f"/dev/{name}": place}
    if machine.exists(f"{place}/loop"):
        return {f"/dev/{name}": place}
    parts = [part for part in machine.names_in(place) if part.startswith(name)]
    return {f"/dev/{part}": f"{place}/{part}" for part in parts if machine.exists(f"{place}/{part}/partition")}


def _partition(machine: Machine, place: str, mount: str | None) -> Facts:
    udev = _udev(machine, place)
    return present(
        **_size(machine, place),
        mount=mount,
        filesystem=udev.get("ID_FS_TYPE"),
        uuid=udev.get("ID_FS_UUID"),
        label=udev.get("ID_FS_LABEL"),
        partuuid=udev.get("ID_PART_ENTRY_UUID"),
        partlabel=udev.get("ID_PART_ENTRY_NAME"),
        backing_file=machine.read_line(f"{place}/loop/backing_file"),
    )


def _size(machine: Machine, place: str) -> Facts:
    sectors = machine.read_number(f"{place}/size")
    if sectors is None or sectors < 0:
        return {}
    return {"size": human_bytes(sectors * SECTOR_BYTES), "size_bytes": sectors * SECTOR_BYTES}


def _udev(machine: Machine, place: str) -> dict[str, str]:
    number = machine.read_line(f"{place}/dev")
    if number is None or re.fullmatch(r"\d+:\d+", number, re.ASCII) is None:
        return {}
    text = machine.read_text(f"/run/udev/data/b{number}") or ""
    return dict(re.findall(r"(?m)^E:(\w+)=(.+)$", text))
