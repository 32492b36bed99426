"""`mountpoints` and `filesystems`: the mounted file systems with their space, and the types that the kernel can mount."""

import re

from precast.agent.facts.groups.units import human_bytes
from precast.agent.facts.machine import Facts, Machine, Usage

_ESCAPE = re.compile(r"\\([0-7]{3})")


def collect(machine: Machine) -> Facts:
    facts: Facts = {}
    if mounted := _mountpoints(machine):
        facts["mountpoints"] = mounted
    lines = [line.split() for line in (machine.read_text("/proc/filesystems") or "").splitlines()]
    names = sorted(words[0] for words in lines if len(words) == 1 and words[0] != "fuseblk")
    if names:
        facts["filesystems"] = ",".join(names)
    return facts


def mounts(machine: Machine) -> list[tuple[str, str, str, list[str]]]:
    """Device, path, file system and options of each mount, in order."""
    entries = []
    for line in (machine.read_text("/proc/self/mounts") or "").splitlines():
        words = line.split(" ")
        if len(words) >= 4:
            entries.append((_unescape(words[0]), _unescape(words[1]), words[2], words[3].split(",")))
    return entries


def _unescape(word: str) -> str:
    r"""Undo the kernel's escapes: it writes a blank as \040."""
    return _ESCAPE.sub(lambda match: chr(int(match[1], 8)), word)


def _mountpoints(machine: Machine) -> Facts:
    """Collect the mounts by path. Of several mounts on one path the last one is visible."""
    mountpoints: Facts = {}
    for device, path, filesystem, options in mounts(machine):
        is_pseudo = re.match(r"/(proc|sys)", path) is not None and filesystem != "tmpfs"
        if is_pseudo or filesystem == "autofs":  # asking autofs for its size would mount it
            continue
        if device == "/dev/root":
            device = _root_device(machine) or device
        mountpoints[path] = {"device": device, "filesystem": filesystem, "options": options}
        if (usage := machine.kernel.usage(path, filesystem)) is not None:
            mountpoints[path] |= _space(usage)
    return dict(sorted(mountpoints.items()))


def _root_device(machine: Machine) -> str | None:
    match = re.search(r"(?:^|\s)root=(/\S+)", machine.read_line("/proc/cmdline") or "")
    return match[1] if match else None


def _space(usage: Usage) -> Facts:
    used = usage.size_bytes - usage.free_bytes
    return {
        "size": human_bytes(usage.size_bytes),
        "size_bytes": usage.size_bytes,
        "available": human_bytes(usage.available_bytes),
        "available_bytes": usage.available_bytes,
        "used": human_bytes(used),
        "used_bytes": used,
        "capacity": _capacity(used, used + usage.available_bytes),
    }


def _capacity(used: int, total: int) -> str:
    if used == total:
        return "100%"
    return f"{used / total * 100:.2f}%" if used else "0%"
