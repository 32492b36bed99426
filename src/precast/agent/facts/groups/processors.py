"""`processors`: their number and models, from /proc/cpuinfo and the topology under /sys."""

import re

from precast.agent.facts.groups.units import human_hertz
from precast.agent.facts.machine import Facts, Machine, present

_TOPOLOGY = "/sys/devices/system/cpu"


def collect(machine: Machine) -> Facts:
    pairs = [line.partition(":") for line in (machine.read_text("/proc/cpuinfo") or "").splitlines()]
    values: dict[str, list[str]] = {}
    for name, _, value in pairs:
        values.setdefault(name.strip(), []).append(value.strip())
    count = len(values.get("processor", []))
    if count == 0:
        return {}
    threads = _members(machine.read_line(f"{_TOPOLOGY}/cpu0/topology/thread_siblings_list"))
    together = _members(machine.read_line(f"{_TOPOLOGY}/cpu0/topology/core_siblings_list"))
    facts = present(
        count=count,
        physicalcount=_sockets(machine, values),
        models=values.get("model name") or values.get("cpu"),
        isa=machine.kernel.hardware() or machine.read_line("/proc/sys/kernel/arch"),
        cores=together // threads if threads and together else None,
        threads=threads,
        speed=_speed(values),
    )
    return {"processors": facts}


def _sockets(machine: Machine, values: dict[str, list[str]]) -> int | None:
    ids = set(values.get("physical id", []))
    if not ids:
        names = [name for name in machine.names_in(_TOPOLOGY) if re.fullmatch(r"cpu\d+", name, re.ASCII)]
        ids = {machine.read_line(f"{_TOPOLOGY}/{name}/topology/physical_package_id") or "" for name in names} - {""}
    return len(ids) or None


def _speed(values: dict[str, list[str]]) -> str | None:
    """The speed of the last processor in whole MHz, like facter's."""
    for name in ("cpu MHz", "clock"):
        if name in values and (megahertz := re.match(r"[0-9]{1,9}", values[name][-1])):
            return human_hertz(int(megahertz[0]) * 1_000_000) if int(megahertz[0]) else None
    return None


def _members(text: str | None) -> int | None:
    """Count the members of a list such as 0-3,8; None if the text is not such a list."""
    total = 0
    for part in (text or "").split(","):
        match = re.fullmatch(r"([0-9]{1,9})(?:-([0-9]{1,9}))?", part)
        if match is None or int(match[2] or match[1]) < int(match[1]):
            return None
        total += int(match[2] or match[1]) - int(match[1]) + 1
    return total
