"""`memory`: total, used and available memory and swap, from /proc/meminfo."""

import re

from precast.agent.facts.groups.units import human_bytes, percent
from precast.agent.facts.machine import Facts, Machine, present


def collect(machine: Machine) -> Facts:
    """Collect `memory.system`, and `memory.swap` if there is any swap."""
    text = machine.read_text("/proc/meminfo") or ""
    kilobytes = {name: int(count) for name, count in re.findall(r"(?m)^(\w+):\s+(\d{1,18}) kB$", text)}
    free = kilobytes.get("MemAvailable")
    if free is None:  # kernels before 3.14
        free = sum(kilobytes.get(name, 0) for name in ("MemFree", "Buffers", "Cached"))
    facts = present(
        system=_share(kilobytes.get("MemTotal", 0), free),
        swap=_share(kilobytes.get("SwapTotal", 0), kilobytes.get("SwapFree", 0)),
    )
    return {"memory": facts} if facts else {}


def _share(total_kb: int, free_kb: int) -> Facts | None:
    if total_kb == 0:
        return None
    total, available = total_kb * 1024, min(free_kb, total_kb) * 1024
    used = total - available
    return {
        "total": human_bytes(total),
        "total_bytes": total,
        "available": human_bytes(available),
        "available_bytes": available,
        "used": human_bytes(used),
        "used_bytes": used,
        "capacity": percent(used, total),
    }
