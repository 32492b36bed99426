"""`system_uptime`: how long the machine has been running.

In a container it is counted from the start of its first process, because /proc/uptime is the host's. LXC is an exception: it shows
each container its own /proc/uptime.
"""

import os
import re

from precast.agent.facts.groups.virtualization import find_container
from precast.agent.facts.machine import Facts, Machine, parse_number


def collect(machine: Machine) -> Facts:
    match = re.match(r"([0-9]{1,12})\.?", machine.read_line("/proc/uptime") or "")
    if match is None:
        return {}
    seconds = int(match[1])
    own = find_container(machine)
    if own is not None and own.kind != "lxc" and (started_s := _first_process_s(machine)) is not None:
        seconds = max(0, seconds - started_s)
    hours, days = seconds // 3600, seconds // 86400
    text = _uptime_text(days, hours, seconds)
    return {"system_uptime": {"seconds": seconds, "hours": hours, "days": days, "uptime": text}}


def _first_process_s(machine: Machine) -> int | None:
    """When process 1 was started, in seconds after the boot of the kernel."""
    words = (machine.read_text("/proc/1/stat") or "").rpartition(")")[2].split()
    ticks = parse_number(words[19]) if len(words) > 19 else None
    return None if ticks is None else ticks // os.sysconf("SC_CLK_TCK")


def _uptime_text(days: int, hours: int, seconds: int) -> str:
    if days == 0:
        return f"{hours}:{seconds // 60 % 60:02} hours"
    return "1 day" if days == 1 else f"{days} days"
