"""`system_uptime`: since when the machine runs. In a container that is since its first process: /proc/uptime is the host's.

Not in LXC, which shows a container its own /proc/uptime.
"""

import os
import re

from precast.agent.facts.groups.virtualization import container
from precast.agent.facts.machine import Facts, Machine, whole_number


def collect(machine: Machine) -> Facts:
    match = re.match(r"([0-9]{1,12})\.?", machine.read_line("/proc/uptime") or "")
    if match is None:
        return {}
    seconds = int(match[1])
    held = container(machine)
    if held is not None and held.kind != "lxc" and (started := _first_process_s(machine)) is not None:
        seconds = max(0, seconds - started)
    hours, days = seconds // 3600, seconds // 86400
    return {"system_uptime": {"seconds": seconds, "hours": hours, "days": days, "uptime": _words(days, hours, seconds)}}


def _first_process_s(machine: Machine) -> int | None:
    """When process 1 was started, in seconds after the kernel."""
    words = (machine.read_text("/proc/1/stat") or "").rpartition(")")[2].split()
    ticks = whole_number(words[19]) if len(words) > 19 else None
    return None if ticks is None else ticks // os.sysconf("SC_CLK_TCK")


def _words(days: int, hours: int, seconds: int) -> str:
    if days == 0:
        return f"{hours}:{seconds // 60 % 60:02} hours"
    return "1 day" if days == 1 else f"{days} days"
